// Vectorisation: a graph for one element becomes a graph for all elements of a batch, which are along a new first axis.
#pragma once

#include <functional>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A graph for a batch. Mapped inputs and outputs have the batch as their first axis; the others are the same for all
/// elements.
struct Vectorised {
  Graph* graph = nullptr;
  std::vector<bool> mapped_inputs, mapped_outputs;
};

/// The graph with a further first axis, of extent `size`, in each input and declared output.
using CustomBatch = std::function<Graph&(Graph&, int64_t size)>;
/// Replaces the batch form of the graph's ops.
void set_custom_batch(Graph& graph, CustomBatch batch);

/// Turns a function of one element into the graph for `size` elements: by the column `batch` of its ops, called graphs
/// included. An op without a rule is a scan over the elements, and so is a branch whose condition is mapped. Declared
/// outputs alone are kept. Throws an Error that names the op: for changes in place, transfers, collectives, and draws
/// from one seed.
Vectorised vectorise(Graph& graph, int64_t size, const std::vector<bool>& mapped_inputs);

}  // namespace pxl
