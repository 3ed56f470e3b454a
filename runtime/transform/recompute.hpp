// Recomputation: gradient graphs that need no activations (reference: popxl.addons' recompute_graph).
#pragma once

#include "runtime/transform/autodiff.hpp"

namespace pxl {

/// A graph "NAME_bwd_recomp_subgraph(n)" that calls the forward graph and then the gradient graph: it takes the
/// gradients and the inputs of the forward graph instead of activations, and gives the same bits. Inputs: those that
/// `info` expects and that are gradients or forward inputs, in that order; the remaining forward inputs by name; then
/// the gradient graph's further inputs (accumulators) by name. Throws where the forward graph moves data of streams.
GradGraphInfoPtr recompute_graph(const GradGraphInfo& info);

/// Whether a run of a graph, with all it calls, accesses a stream.
bool uses_streams(const Graph& graph);

}  // namespace pxl
