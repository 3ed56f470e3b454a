// The gradient of a repeat of many iterations as a graph of two repeats: the first runs the iterations again and writes
// what their gradients need into memory with an axis of iterations, the second reads it from the last iteration to the
// first.
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// What is differentiated: `count` iterations of a body with gradient graph `info`; `wanted` by operand of the repeat.
struct LongLoop {
  Graph* body;
  int64_t count;
  GradGraphInfoPtr info;
  std::vector<bool> wanted;
};

struct LoopPair {
  Graph* graph = nullptr;
  /// Of each input: the slot of the repeat's operand; from the number of operands on, the carried output whose gradient
  /// it is. Only what is needed is there.
  std::vector<size_t> roles;
  std::vector<size_t> slots;  ///< of each output: the operand whose gradient it is
};

/// The graph has gradients itself: those of the same two repeats with memory that is carried, a copy an iteration,
/// where this one changes it in place.
LoopPair make_loop_pair(const LongLoop& loop);

}  // namespace pxl
