// The values that stay the same when a graph runs many times: as the body of a loop, or as a program's main graph.
#pragma once

#include <optional>

#include "runtime/base/pointer_map.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

/// Of a loop's body from one iteration to the next; of a main graph from one run to the next, unless something else
/// changes a variable.
struct Unchanged {
  PointerSet<const Tensor*> inputs;  ///< of a loop's body, with the same value in each iteration
  bool variables = false;            ///< of a main graph

  /// Whether a tensor has the same value in all runs, from the beginning of each on.
  bool holds(const Tensor* tensor, const Aliases& aliases) const;
};

/// nullopt unless the graph is a loop's body or a main graph. `nodes`, `inputs` and `outputs` are those of its plan.
std::optional<Unchanged> unchanged_values(const Graph& graph, const std::vector<Node>& nodes,
                                          const std::vector<const Tensor*>& inputs,
                                          const std::vector<const Tensor*>& outputs);

}  // namespace pxl
