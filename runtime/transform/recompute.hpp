// Recomputation: gradient graphs that need no activations (reference: popxl.addons' recompute_graph).
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// A graph "NAME_bwd_recomp_subgraph(n)" that calls the forward graph and then the gradient graph. It takes the
/// gradients, and the forward graph's inputs instead of activations. Bit-identical. Inputs: those that `info` expects
/// and that are gradients or forward inputs, in that order; the remaining forward inputs by name; then the gradient
/// graph's additional inputs (accumulators) by name. `kept` says which activations it takes all the same. Throws if the
/// forward graph uses streams.
using Kept = std::function<bool(const Tensor& activation)>;
GradGraphInfoPtr recompute_graph(const GradGraphInfo& info, const Kept& kept = {});

/// Has the gradients of a graph recompute it: each is the `recompute_graph` of what it would be. The graph is new.
/// `save` has patterns for names: activations that fit are kept. `*` stands for any text. Throws, in the
/// gradient, if one fits no activation.
void recompute_in_gradients(Graph& graph, std::vector<std::string> save = {});

/// Whether a run of a graph, with all it calls, accesses a stream.
bool uses_streams(const Graph& graph);

}  // namespace pxl
