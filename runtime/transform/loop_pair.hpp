// The gradient of a repeat of many iterations as a graph of two repeats: the first repeats the iterations and stores
// what their gradients need in buffers with an axis of iterations; the second reads the buffers in reverse order.
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// The repeat to differentiate: `count` iterations of a body with gradient graph `info`; `wanted` by operand of the
/// repeat.
struct LongLoop {
  Graph* body;
  int64_t count;
  GradGraphInfoPtr info;
  std::vector<bool> wanted;
};

struct LoopPair {
  Graph* graph = nullptr;
  /// By input: the slot of the repeat's operand; from the number of operands on, the carried output whose gradient it
  /// is. Only needed inputs exist.
  std::vector<size_t> roles;
  std::vector<size_t> slots;  ///< by output: the operand whose gradient it is
};

/// The graph is differentiable again, through a variant that carries the buffers (one copy per iteration) instead of
/// modifying them in place.
LoopPair make_loop_pair(const LongLoop& loop);

}  // namespace pxl
