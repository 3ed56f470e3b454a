// What graphs inside nodes need, read from the model alone.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// The inputs of a call of a model's function that must be known while the program's graph is built; null for other
/// nodes.
using HostInputs = std::function<const std::vector<size_t>*(const Node&)>;
/// Adds the values of nodes, and of graphs inside them, that must be known while the program's graph is built. From the
/// last node to the first: what such a value is computed from is one as well.
void add_host_values(const std::vector<Node>& nodes, int64_t opset, std::set<std::string>& host,
                     const HostInputs& inputs_of_call = {});

/// Whether the iterations of a Loop or Scan are one graph that is run again: none needs values while it is built, none
/// ends the loop, and what a Loop carries keeps its shape.
bool is_steady(const Node& node, int64_t opset);
/// Whether a Loop's body stacks no results and does not read the number of its iteration.
bool is_plain_loop(const Node& node);

}  // namespace pxl::onnx
