// A graph as it is drawn: ops as boxes in nested modules; modules below a depth as one box; and where that is still too
// much to look at, neighbours of one kind as one box.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct ViewNode {
  std::string id;                   ///< "n12"
  std::vector<std::string> labels;  ///< lines
  std::vector<std::string> scope;   ///< the modules around it that are drawn as clusters
  enum Kind : uint8_t { op, module, call, input, output, variable, constant } kind = op;
  const Graph* called = nullptr;   ///< of a call
  int members = 1;                 ///< how many ops or tensors it stands for
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

/// How much of a graph is drawn.
struct Detail {
  int depth = 0;  ///< levels of modules that are drawn as clusters; those within them become boxes
  /// How many neighbours share a box, 1 for none: modules of a list whose numbers are near ("blocks.0" to "blocks.7"),
  /// and within a module ops that follow one another in the schedule, calls of one graph, inputs, outputs, variables.
  int fold = 1;
};
constexpr size_t most_boxes = 120;  ///< of one graph
constexpr size_t most_boxes_together = 360;

GraphView view_of(const Graph& graph, Detail detail);
/// The most detail with which no graph has more than `most_boxes` boxes and all together have at most
/// `most_boxes_together`, as far as folding can: first the depth is lowered, then neighbours are folded. A depth of 0
/// or more is kept as it is, and nothing is folded.
Detail detail_for(const std::vector<const Graph*>& graphs, int depth = -1);
/// The levels of modules in a graph.
int levels_of(const Graph& graph);

/// DOT, for graphviz: one cluster a graph, in it one a module. `title` names the picture, and
/// the main graph unless the graphs are of several programs.
std::string dot_text(const std::string& title, const std::vector<GraphView>& views);
/// A graph with those that it calls.
std::string dot_text(const Graph& graph);

/// Runs graphviz's dot on the text and gives what it wrote; `format` is one of its own: "svg", "png", "pdf". Throws
/// Error where it is not installed.
std::string draw(const std::string& text, const std::string& format);
/// Whether dot is installed.
bool can_draw();

}  // namespace pxl
