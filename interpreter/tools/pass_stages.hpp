// What the planner's passes make of a graph, as text, for `pxl schedule --passes` and the page of graphs.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The nodes of a graph after a pass; before the first one, `pass` is empty.
struct PassStage {
  std::string pass, nodes;
};
/// The nodes that the graph becomes, and those after each pass that changes them. Called graphs are not among them.
std::vector<PassStage> pass_stages(const Graph& graph);

}  // namespace pxl
