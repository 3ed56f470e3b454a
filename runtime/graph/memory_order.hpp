// Alias analysis: finds the tensors of a graph that share memory. Also finds the pairs of ops that must keep their
// order, because one op modifies memory (or a stream) that the other op accesses.
#pragma once

#include <vector>

#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Partition of a graph's tensors by shared memory (Op::aliases). A group contains a view, all tensors that it is a
/// view or a part of, and all tensors that share memory with these.
class MemoryGroups {
 public:
  explicit MemoryGroups(const Graph& graph);
  /// Dense numbers from 0, in order of each group's first tensor.
  size_t group(const Tensor* tensor) const { return group_.at(tensor); }
  size_t count() const { return count_; }
  /// Whether the tensor is the origin of its memory: neither a view nor the result of an in-place op.
  bool owns_memory(const Tensor* tensor) const;

 private:
  PointerMap<const Tensor*, size_t> group_;
  size_t count_ = 0;
};

/// `second` accesses memory after `first`, and at least one of them modifies it. Ops by index in creation order, so
/// first < second. Transitive pairs are omitted.
struct MemoryPair {
  size_t first, second;
  const Tensor* changed;  ///< under the name that the modifying op uses
  bool first_changes;
};

/// `calls_change`: whether calls modify their by-ref inputs, or only read them.
std::vector<MemoryPair> memory_pairs(const Graph& graph, const MemoryGroups& groups, bool calls_change);

/// Consecutive pairs of ops that access one stream (also inside called graphs), or that have other side effects; both
/// keep creation order.
std::vector<std::pair<size_t, size_t>> effect_pairs(const Graph& graph);

}  // namespace pxl
