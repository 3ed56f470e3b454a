// The values that stay the same in all iterations of a loop, seen from the loop's body.
#pragma once

#include <optional>

#include "runtime/base/pointer_map.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

/// A graph that a loop calls, and perhaps other ops.
struct LoopBody {
  PointerSet<const Tensor*> unchanged;  ///< inputs with the same value in each iteration

  /// Whether a tensor has the same value in each iteration, from the beginning of each on.
  bool is_unchanged(const Tensor* tensor, const Aliases& aliases) const;
};

/// nullopt unless the graph is a loop's body. `nodes`, `inputs` and `outputs` are those of its plan.
std::optional<LoopBody> loop_body(const Graph& graph, const std::vector<Node>& nodes,
                                  const std::vector<const Tensor*>& inputs, const std::vector<const Tensor*>& outputs);

}  // namespace pxl
