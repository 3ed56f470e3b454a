// A graph as it is drawn: ops as boxes in nested modules, modules below a depth as one box.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl::cli {

struct ViewNode {
  std::string id;                   ///< "n12"
  std::vector<std::string> labels;  ///< lines
  std::vector<std::string> scope;   ///< the modules around it that are drawn as clusters
  enum Kind : uint8_t { op, module, call, input, output, variable, constant } kind = op;
  const Graph* called = nullptr;   ///< of a call
  int ops = 1;                     ///< how many it stands for
  std::vector<std::string> names;  ///< of the ops: "MatMul.102"
};
struct ViewEdge {
  int from, to;
  std::string label;  ///< dtype and shape; of several tensors their number
  int tensors = 1;
};
struct GraphView {
  const Graph* graph = nullptr;
  std::vector<ViewNode> nodes;
  std::vector<ViewEdge> edges;
};

/// `depth`: how many levels of modules are drawn as clusters; those within them become boxes. Negative: the deepest
/// at which no graph has more than `most_boxes`, at least 0.
constexpr size_t most_boxes = 120;
GraphView view_of(const Graph& graph, int depth);
int depth_for(const Ir& ir);
/// The levels of modules in a graph.
int levels_of(const Graph& graph);

/// DOT, for graphviz: one cluster a graph, in it one a module. The graphs stand in the order of the Ir.
std::string dot_text(const Ir& ir, const std::vector<GraphView>& views);

}  // namespace pxl::cli
