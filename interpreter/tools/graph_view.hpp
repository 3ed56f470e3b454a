// A graph as drawn: ops are boxes in nested modules. Modules below a depth are one box. Adjacent nodes of one kind
// share a box in large graphs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct ViewNode {
  std::string id;                   ///< "n12"
  std::vector<std::string> labels;  ///< lines of text
  std::vector<std::string> scope;   ///< the enclosing modules that are drawn as clusters
  enum Kind : uint8_t { op, module, call, input, output, variable, constant } kind = op;
  const Graph* called = nullptr;   ///< called graph
  int members = 1;                 ///< number of ops or tensors in the box
  std::vector<std::string> names;  ///< names of the ops: "MatMul.102"
};
struct ViewEdge {
  int from, to;
  std::string label;  ///< dtype and shape, or the number of tensors if there are several
  int tensors = 1;
};
struct DrawnGraph {
  const Graph* graph = nullptr;  ///< null for a picture of modules
  std::string title = {};        ///< of a picture without a graph
  size_t equal = 1;              ///< number of graphs with this structure, which is drawn once
  std::vector<ViewNode> nodes;
  std::vector<ViewEdge> edges;
};

/// Level of detail.
struct Detail {
  int depth = 0;  ///< levels of modules that are drawn as clusters; deeper modules become boxes
  /// Maximum number of adjacent nodes that share a box; 1 for none. Modules of a list share boxes if their numbers are
  /// adjacent ("blocks.0" to "blocks.7"). Within a module, consecutive ops of the schedule, calls of one graph, inputs,
  /// outputs and variables share boxes.
  int fold = 1;
};
constexpr size_t max_boxes = 120;  ///< maximum boxes in one graph
constexpr size_t max_total_boxes = 360;

DrawnGraph view_of(const Graph& graph, Detail detail);
/// The highest level of detail that keeps the limits `max_boxes` for each graph and `max_total_boxes` for all graphs,
/// if grouping can reach it. The depth is lowered first; then adjacent nodes share boxes. A given depth (0 or more) is
/// kept, without grouping.
Detail detail_for(const std::vector<const Graph*>& graphs, int depth = -1);
/// Views of graphs, as detailed as detail_for decides. Equal graphs (equal_graphs.hpp) have one view, of the first one;
/// calls of the others name it too.
std::vector<DrawnGraph> views_of(const std::vector<const Graph*>& graphs, int depth = -1);
/// The number of module levels in a graph.
int levels_of(const Graph& graph);

/// Writes DOT with a cluster for each graph and nested clusters for modules. `title` names the picture, and also the
/// main graph unless the graphs belong to several programs.
std::string dot_text(const std::string& title, const std::vector<DrawnGraph>& views);
/// Draws a graph and the graphs that it calls. `depth`: see views_of.
std::string dot_text(const Graph& graph, int depth = -1);

/// Runs Graphviz's dot on the text and returns its output; `format` is one of dot's: "svg", "png", "pdf". Throws Error
/// if dot is not installed.
std::string draw(const std::string& text, const std::string& format);
/// Whether dot is installed.
bool can_draw();

}  // namespace pxl
