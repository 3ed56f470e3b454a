// Forward-mode differentiation: a graph in, a graph out that computes values and tangents side by side. An op's rule is
// its transposed gradient. Calls, loops and branches have rules of their own: a loop's tangent is one loop over values
// and tangents, without a bound, and keeps nothing.
#pragma once

#include <optional>
#include <vector>

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// The graph of values and tangents. Its inputs are those of the original, then a tangent for each input that has one.
/// Its outputs are those of the original, then the tangents of outputs.
struct Pushforward {
  Graph* graph = nullptr;
  std::vector<std::optional<size_t>> tangent;  ///< by output of the original: the output with its tangent
};

/// `given`: by input, whether it has a tangent. Throws for ops in place and for ops without gradient, as autodiff does.
Pushforward pushforward(Graph& graph, const std::vector<bool>& given);

/// Replaces the tangents that a graph's ops would have. The graph that `tangent` makes takes tangents of inputs,
/// `provided`, and gives those of outputs, `required`. It has the form of a gradient graph (GradGraphInfo). A custom
/// gradient without one is transposed.
void set_custom_tangent(Graph& graph, CustomGradient tangent);

}  // namespace pxl
