// Inlining: lowers a graph to nodes and replaces calls by the nodes of their callees, in execution order. Each call
// site gets clones of its callee's tensors.
#pragma once

#include <deque>
#include <functional>

#include "runtime/plan/node.hpp"

namespace pxl {

struct FlattenedGraph {
  std::vector<Node> nodes;
  /// Substitution map: a call's result to the inlined tensor that replaces it.
  PointerMap<const Tensor*, const Tensor*> replacement;
  std::deque<Tensor> tensors;  ///< clones; nodes point to them
  std::deque<Op> ops;          ///< copies that call sites need
  std::deque<CallSite> sites;  ///< the calls that were replaced

  const Tensor* of(const Tensor* tensor) const {
    const auto found = replacement.find(tensor);
    return found == replacement.end() ? tensor : found->second;
  }
};

/// The number of a graph's ops after all calls are inlined; saturates.
int64_t flattened_size(const Graph& graph);

/// Lowers the ops `order` of one graph; inlined graphs run in their own schedule order. `plan_of` returns the plans of
/// graphs that are not inlined: loop bodies, branches, and callees that stay. Keeps value semantics: an operand that is
/// not by reference and that the callee changes is copied. Without `all`, inlines only the necessary calls: the called
/// graph writes memory that two of its by-reference operands share.
FlattenedGraph flatten_calls(const std::vector<Op*>& order, const std::function<const Plan*(const Graph&)>& plan_of,
                             bool all);

}  // namespace pxl
