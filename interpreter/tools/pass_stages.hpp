// A graph's nodes after each of the planner's passes, as text, for `pxl schedule --passes` and the page of graphs.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The nodes of a graph after a pass. `pass` is empty for the nodes before the first pass.
struct PassStage {
  std::string pass, nodes;
};
/// The nodes that the graph becomes, and the nodes after each pass that changes them. Called graphs are not included.
std::vector<PassStage> pass_stages(const Graph& graph);

}  // namespace pxl
