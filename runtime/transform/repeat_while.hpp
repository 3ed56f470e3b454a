// Loops with a condition. They carry their states, whether they go on, and the number of iterations so far; the
// condition is read before each iteration.
#pragma once

#include <optional>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// What a loop with a condition does. Of both graphs the first inputs are the states.
struct WhileForm {
  Graph* step = nullptr;       ///< its declared outputs are the states of the next iteration
  std::vector<size_t> output;  ///< by state: the output of the step
  Graph* condition = nullptr;  ///< gives one bool; null: the loop runs as often as `count` says
  Tensor* count = nullptr;     ///< int32[], in the graph around the loop
  std::optional<int64_t> bound;
};

/// Adds a loop op, whose first outputs are the states after it; the last one is the number of iterations. `of_step` and
/// `of_condition` are operands, one for each input. A run fails if the condition holds after `bound` iterations. Throws
/// Error if the condition is no bool of one element.
Op* add_while(Graph& graph, const WhileForm& form, const std::vector<Tensor*>& of_step,
              const std::vector<Tensor*>& of_condition);

/// The output of a loop with a condition that has the number of its iterations.
Tensor* iterations_of(const Op& loop);

}  // namespace pxl
