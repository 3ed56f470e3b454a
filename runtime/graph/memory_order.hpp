// Which tensors share memory inside a graph, and which pairs of ops must keep their order because one of them
// changes memory (or a stream) that the other uses.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The tensors of a graph grouped by memory (Op::aliases): what is a view of another tensor, of a part of it, or of
/// several tensors joined, is in one group with it, and so is everything that shares memory with any of them.
class MemoryGroups {
 public:
  explicit MemoryGroups(const Graph& graph);
  /// Dense numbers from 0; a group's number is given to its first tensor first.
  size_t group(const Tensor* tensor) const { return group_.at(tensor); }
  size_t count() const { return count_; }
  /// Whether the tensor has memory of its own: it is no view and no result of an in-place op.
  bool owns_memory(const Tensor* tensor) const;

 private:
  std::unordered_map<const Tensor*, size_t> group_;
  size_t count_ = 0;
};

/// `second` uses memory after `first`, at least one of them changes it. Ops by their index in creation order, so
/// first < second. Transitive consequences are left out: chaining the pairs gives every needed order.
struct MemoryPair {
  size_t first, second;
  const Tensor* changed;  ///< the tensor as the changing op names it
  bool first_changes;
};

/// `calls_change`: whether calls count as changing their by-ref inputs, or only as using them.
std::vector<MemoryPair> memory_pairs(const Graph& graph, const MemoryGroups& groups, bool calls_change);

/// Ops that load from or store to one stream (also inside called graphs), and ops with other side effects, keep
/// their order of creation: consecutive pairs.
std::vector<std::pair<size_t, size_t>> effect_pairs(const Graph& graph);

}  // namespace pxl
