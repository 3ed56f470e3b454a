// What graphs inside nodes need, read from the model alone.
#pragma once

#include <set>
#include <string>

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// Adds the values of a graph, and of graphs inside its nodes, that must be known while the program's graph is built.
/// From the last node to the first: what such a value is computed from is one as well.
void add_host_values(const Graph& graph, int64_t opset, std::set<std::string>& host);

/// Whether the iterations of a Loop or Scan are one graph that is run again: none needs values while it is built, none
/// ends the loop, and what a Loop carries keeps its shape.
bool is_steady(const Node& node, int64_t opset);
/// Whether a Loop's body stacks no results and does not read the number of its iteration.
bool is_plain_loop(const Node& node);

}  // namespace pxl::onnx
