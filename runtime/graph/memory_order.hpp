// Alias analysis: finds the tensors of a graph that share memory. Also finds the pairs of ops that must keep their
// order, because one op modifies memory (or a stream) that the other op accesses.
#pragma once

#include <vector>

#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Ops of one graph in creation order.
using OpList = std::vector<Op*>;
OpList ops_of(const Graph& graph);
/// The ops that decide a tensor's value: those that it is computed from, and all that modify memory, with those that
/// they are computed from.
OpList ops_that_decide(const Tensor& tensor);

/// Partition of a graph's tensors by shared memory (Op::aliases). A group contains a view, all tensors that it is a
/// view or a part of, and all tensors that share memory with these.
class MemoryGroups {
 public:
  explicit MemoryGroups(const Graph& graph);
  /// The tensors that some ops use.
  explicit MemoryGroups(const OpList& ops) { add({}, ops); }
  /// Dense numbers from 0, in order of each group's first tensor.
  size_t group(const Tensor* tensor) const { return group_.at(tensor); }
  size_t count() const { return count_; }
  /// Whether the tensor is the origin of its memory: neither a view nor the result of an in-place op.
  bool owns_memory(const Tensor* tensor) const;

 private:
  void add(const std::vector<const Tensor*>& given, const OpList& ops);

  PointerMap<const Tensor*, size_t> group_;
  size_t count_ = 0;
};

/// `second` accesses memory after `first`, and at least one of them modifies it. Ops by index in their list, so
/// first < second. Transitive pairs are omitted.
struct MemoryPair {
  size_t first, second;
  const Tensor* changed;  ///< under the name that the modifying op uses
  bool first_changes;
};

/// `calls_change`: whether calls modify their by-ref inputs, or only read them.
std::vector<MemoryPair> memory_pairs(const OpList& ops, const MemoryGroups& groups, bool calls_change);

/// Consecutive pairs of ops that access one stream (also inside called graphs), or that have other side effects; both
/// keep creation order.
std::vector<std::pair<size_t, size_t>> effect_pairs(const OpList& ops);

}  // namespace pxl
