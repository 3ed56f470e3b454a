// Loops with a condition. They carry their states, whether they go on, and the number of iterations so far; the
// condition is read before each iteration.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A loop with a condition.
struct WhileForm {
  Graph* step = nullptr;  ///< its first inputs are the states, and its declared outputs those of the next iteration
  Graph* condition = nullptr;  ///< gives one bool; null: the loop runs as often as `count` says
  /// For each input of the condition, the state that it reads; empty for operands that stay the same.
  std::vector<std::optional<size_t>> condition_state;
  Tensor* count = nullptr;  ///< int32[], in the graph around the loop
  std::optional<int64_t> bound;
};

/// Adds a loop op, whose first outputs are the states after it; the last one is the number of iterations. `of_step` and
/// `of_condition` are operands, one for each input; the condition reads a state in place of its operand. A run fails if
/// the condition holds after `bound` iterations. Throws Error if the condition is no bool of one element.
Op* add_while(Graph& graph, const WhileForm& form, const std::vector<Tensor*>& of_step,
              const std::vector<Tensor*>& of_condition);

/// The output of a loop with a condition that has the number of its iterations.
Tensor* iterations_of(const Op& loop);

}  // namespace pxl
