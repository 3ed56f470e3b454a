// Gradient accumulation: gradient graphs that keep a running mean of gradients (reference: popxl.addons'
// autodiff_with_accumulation).
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

struct Accumulation {
  GradGraphInfoPtr info;              ///< by-ref inputs of the accumulators follow those of `expected_inputs`
  Tensor* counter = nullptr;          ///< input "mean_accum_counter", float32[]: number of gradients in the means
  std::vector<Tensor*> accumulators;  ///< inputs "accum.NAME", parallel to the tensors, with their specs
};

/// A separate gradient graph whose calls add the gradients of `accumulate` to means. If the counter is k, a mean m
/// becomes m k / (k + 1) + gradient / (k + 1), and the counter becomes k + 1. A counter of 0 restarts the means. The
/// gradients of `grads_required` (default: none) are its outputs. Errors as for autodiff; all tensors are required
/// strictly.
Accumulation autodiff_with_accumulation(Graph& graph, const std::vector<Tensor*>& accumulate,
                                        std::optional<std::vector<Tensor*>> grads_provided = {},
                                        const std::vector<Tensor*>& grads_required = {},
                                        const std::map<Graph*, GradGraphInfoPtr>& called_graphs_grad_info = {});

}  // namespace pxl
