// Calls replaced by what they call: the nodes of a graph and of all graphs it calls, in the order in which they run, so
// that rewrites see across call sites. Each call site gets stand-ins of its own for the callee's tensors.
#pragma once

#include <deque>
#include <functional>
#include <unordered_map>

#include "runtime/plan/node.hpp"

namespace pxl {

struct FlattenedGraph {
  std::vector<Node> nodes;
  /// What stands for a tensor of the flattened graph, where that is another one: results of calls.
  std::unordered_map<const Tensor*, const Tensor*> replacement;
  std::deque<Tensor> tensors;  ///< stand-ins; nodes point at them
  std::deque<Op> ops;          ///< copies that call sites need

  const Tensor* of(const Tensor* tensor) const {
    const auto found = replacement.find(tensor);
    return found == replacement.end() ? tensor : found->second;
  }
};

/// Ops of a graph with all calls below it flattened; saturates.
int64_t flattened_size(const Graph& graph);

/// `order` is that of one graph's ops; graphs below run in their own schedule order. `plan_of` gives the plans of loop
/// bodies and branches, which stay as they are, and of graphs whose calls stay. Value semantics of calls are kept: what
/// a callee changes of an input that is not by reference is a copy. Without `all`, only those calls are replaced that
/// must be: of graphs that get the same memory by reference twice and change it.
FlattenedGraph flatten_calls(const std::vector<Op*>& order, const std::function<const Plan*(const Graph&)>& plan_of,
                             bool all);

}  // namespace pxl
