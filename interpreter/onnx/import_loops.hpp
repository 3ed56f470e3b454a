// Reads from the model alone what the graphs inside nodes need.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/onnx/model.hpp"

namespace pxl::onnx {

/// The inputs that must be known while the program's graph is built, if the node calls a model's function; null for
/// other nodes.
using HostInputs = std::function<const std::vector<size_t>*(const Node&)>;
/// Adds the values of nodes, and of graphs inside them, that must be known while the program's graph is built. Goes
/// from the last node to the first, since the operands of such a value are host values too.
void add_host_values(const std::vector<Node>& nodes, int64_t opset, std::set<std::string>& host,
                     const HostInputs& inputs_of_call = {});

/// Whether the iterations of a Loop or Scan can run one graph again. No iteration needs values while the graph is
/// built, none ends the loop, and all carried values keep their shape.
bool is_steady(const Node& node, int64_t opset);
/// Whether a Loop may end by a condition of what it carries, which keeps its shape, and stacks no results. Without
/// `judging_loops` the body may need values while it is built.
bool is_conditional_loop(const Node& node, int64_t opset, bool judging_loops);
/// Whether a Loop's body stacks no results and does not read the number of its iteration.
bool is_plain_loop(const Node& node);

}  // namespace pxl::onnx
