// DOT output of graphs, and pictures by Graphviz.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "interpreter/tools/graph_view.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/filter_program.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

namespace {

std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  return out + "\"";
}

struct Style {
  const char* shape;
  const char* fill;
};
Style style_of(ViewNode::Kind kind) {
  switch (kind) {
    case ViewNode::op: return {"box", "#ffffff"};
    case ViewNode::module: return {"box3d", "#dbe9f6"};
    case ViewNode::call: return {"component", "#fde9c9"};
    case ViewNode::input: return {"ellipse", "#e2f0d9"};
    case ViewNode::output: return {"ellipse", "#f8d9d5"};
    case ViewNode::variable: return {"cylinder", "#ece3f5"};
    case ViewNode::constant: return {"note", "#f2f2f2"};
  }
  return {"box", "#ffffff"};
}

// Nodes of one graph, with modules as nested clusters.
void dot_nodes(std::string& out, const DrawnGraph& view, const std::string& prefix, std::vector<size_t> which,
               size_t level, int& clusters, int indent) {
  const std::string space(static_cast<size_t>(indent), ' ');
  std::map<std::string, std::vector<size_t>> inner;
  std::vector<std::string> order;
  for (size_t i : which) {
    const ViewNode& n = view.nodes[i];
    if (n.scope.size() > level) {
      if (inner[n.scope[level]].empty()) order.push_back(n.scope[level]);
      inner[n.scope[level]].push_back(i);
      continue;
    }
    std::string label;
    for (const std::string& line : n.labels) {
      const std::string q = dot_quoted(line);
      label += (label.empty() ? "" : "\\n") + q.substr(1, q.size() - 2);
    }
    const Style style = style_of(n.kind);
    constexpr size_t named = 24;  // maximum number of ops in a tooltip
    std::string tooltip = join_texts(std::span(n.names).first(std::min(named, n.names.size())));
    if (n.names.size() > named) tooltip += ", ...";
    out += fmt::format("{}{}{} [label=\"{}\", shape={}, fillcolor=\"{}\", tooltip={}];\n", space, prefix, n.id, label,
                       style.shape, style.fill, dot_quoted(tooltip.empty() ? n.labels.front() : tooltip));
  }
  for (const std::string& name : order) {
    out += fmt::format(
        "{}subgraph cluster_{} {{\n{}  label={}; style=\"rounded,filled\"; fillcolor=\"#0000000a\"; "
        "color=\"#8c9aa8\";\n",
        space, clusters++, space, dot_quoted(name));
    dot_nodes(out, view, prefix, inner[name], level + 1, clusters, indent + 2);
    out += space + "}\n";
  }
}

}  // namespace

std::string dot_text(const std::string& title, const std::vector<DrawnGraph>& views) {
  std::string out = fmt::format(
      "digraph {} {{\n  compound=true; rankdir=TB; fontname=\"Helvetica\"; fontsize=11; nodesep=0.25; ranksep=0.4;\n"
      "  node [style=filled, fontname=\"Helvetica\", fontsize=10, color=\"#5b6770\", margin=\"0.08,0.04\", "
      "height=0.3];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#5b6770\", fontcolor=\"#5b6770\", arrowsize=0.6];\n",
      dot_quoted(title));
  const bool several = std::any_of(views.begin(), views.end(), [&](const DrawnGraph& v) {
    return v.graph && &v.graph->ir() != &views.front().graph->ir();
  });
  int clusters = 0;
  std::map<const Graph*, std::pair<int, size_t>> place;  // cluster and view of a graph
  for (size_t g = 0; g < views.size(); ++g) {
    const DrawnGraph& view = views[g];
    const size_t calls = view.graph ? view.graph->call_sites().size() : 0;
    const std::string& program = several ? view.graph->ir().name() : title;
    std::string name = !view.graph             ? view.title
                       : view.graph->is_main() ? program
                       : several               ? program + ": " + view.graph->id()
                                               : view.graph->id();
    if (view.equal > 1) name += fmt::format(", one of {} equal graphs", view.equal);
    if (calls) name += fmt::format(", called {}", calls == 1 ? "once" : fmt::format("{} times", calls));
    place[view.graph] = {clusters, g};
    out += fmt::format(
        "  subgraph cluster_{} {{\n    label={}; labeljust=l; fontsize=12; style=rounded; color=\"#33475b\";\n",
        clusters++, dot_quoted(name));
    std::vector<size_t> all(view.nodes.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    const std::string prefix = fmt::format("g{}_", g);
    dot_nodes(out, view, prefix, all, 0, clusters, 4);
    // Boxes show shapes. Edges show what a box with several ops produces.
    for (const ViewEdge& e : view.edges) {
      const ViewNode& from = view.nodes[static_cast<size_t>(e.from)];
      const bool label = (from.kind == ViewNode::module && !e.label.empty()) || from.members > 1 || e.tensors > 1;
      out += fmt::format("    {}{} -> {}{}{};\n", prefix, from.id, prefix, view.nodes[static_cast<size_t>(e.to)].id,
                         label ? fmt::format(" [label={}]", dot_quoted(e.label)) : std::string());
    }
    out += "  }\n";
  }
  // Draws lines from the calls of each graph, if there are few.
  for (size_t g = 0; g < views.size(); ++g) {
    for (const ViewNode& n : views[g].nodes) {
      if (!n.called || n.called->call_sites().size() > 3) continue;
      const auto found = place.find(n.called);
      if (found == place.end() || views[found->second.second].nodes.empty()) continue;
      out +=
          fmt::format("  g{}_{} -> g{}_{} [lhead=cluster_{}, style=dashed, constraint=false, color=\"#c47f17\"];\n", g,
                      n.id, found->second.second, views[found->second.second].nodes.front().id, found->second.first);
    }
  }
  return out + "}\n";
}

std::string dot_text(const Graph& graph, int depth) {
  std::vector<const Graph*> graphs{&graph};
  for (size_t i = 0; i < graphs.size(); ++i)
    for (const auto& op : graphs[i]->ops())
      for (const Graph* called : op->called)
        if (std::find(graphs.begin(), graphs.end(), called) == graphs.end()) graphs.push_back(called);
  return dot_text(graph.is_main() ? graph.ir().name() : graph.id(), views_of(graphs, depth));
}

std::string draw(const std::string& text, const std::string& format) {
  const FilterOutcome drawn = run_filter({"dot", "-T" + format}, text);
  if (drawn.status == 127)
    throw run_error(fmt::format("graph: drawing {} requires `dot`, which is not installed", format),
                    {"install the package graphviz, or write DOT with `-o FILE.dot`"});
  if (drawn.status != 0) throw run_error("graph: `dot` failed");
  return drawn.output;
}

bool can_draw() {
  const char* path = std::getenv("PATH");
  std::string_view left = path ? path : "";
  while (!left.empty()) {
    const size_t end = std::min(left.find(':'), left.size());
    std::error_code ignored;
    if (std::filesystem::exists(std::filesystem::path(left.substr(0, end)) / "dot", ignored)) return true;
    left.remove_prefix(std::min(end + 1, left.size()));
  }
  return false;
}

}  // namespace pxl
