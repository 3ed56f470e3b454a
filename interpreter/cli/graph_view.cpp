#include "interpreter/cli/graph_view.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/graph/schedule.hpp"

namespace pxl::cli {

namespace {

// Modules around an op, from the names of its tensors: "blocks/0/mlp/gelu_out" lies in blocks/0/mlp. An element of a
// list is one level with its list.
std::vector<std::string> scope_of(const Op& op) {
  std::vector<std::string> parts;
  const Tensor* named = op.outputs.empty() ? nullptr : op.outputs.front();
  if (!named) return parts;
  const std::string& name = named->name;
  for (size_t at = 0, slash; (slash = name.find('/', at)) != name.npos; at = slash + 1) {
    std::string part = name.substr(at, slash - at);
    const bool number =
        !part.empty() && std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    number && !parts.empty() ? void(parts.back() += "." + part) : parts.push_back(std::move(part));
  }
  return parts;
}

std::string spec_text(const Tensor& t) { return text(t.spec); }

class Builder {
 public:
  Builder(const Graph& graph, int depth) : depth_(static_cast<size_t>(std::max(depth, 0))) { view_.graph = &graph; }

  GraphView run() {
    const Graph& graph = *view_.graph;
    for (const Tensor* t : graph.inputs())
      source(t, ViewNode::input, {t->key.empty() ? t->name : t->key, spec_text(*t)}, {});
    for (const Op* op : schedule_order(graph)) add(*op);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Tensor* t = graph.outputs()[i];
      const int from = node_of(t, {});
      const int to = node(ViewNode::output, {fmt::format("output {}", i), spec_text(*t)}, {});
      connect(from, to, *t);
    }
    return std::move(view_);
  }

 private:
  int node(ViewNode::Kind kind, std::vector<std::string> labels, std::vector<std::string> scope) {
    ViewNode n;
    n.id = fmt::format("n{}", view_.nodes.size());
    n.kind = kind;
    n.labels = std::move(labels);
    n.scope = std::move(scope);
    n.ops = kind == ViewNode::op || kind == ViewNode::module || kind == ViewNode::call;
    view_.nodes.push_back(std::move(n));
    return static_cast<int>(view_.nodes.size() - 1);
  }

  int source(const Tensor* t, ViewNode::Kind kind, std::vector<std::string> labels, std::vector<std::string> scope) {
    return made_by_[t] = node(kind, std::move(labels), std::move(scope));
  }

  // Variables and constants are drawn where they are first used.
  int node_of(const Tensor* t, const std::vector<std::string>& scope) {
    if (const auto found = made_by_.find(t); found != made_by_.end()) return found->second;
    const ViewNode::Kind kind = t->kind == TensorKind::variable   ? ViewNode::variable
                                : t->kind == TensorKind::constant ? ViewNode::constant
                                                                  : ViewNode::input;
    std::string label = t->name;
    if (t->kind == TensorKind::constant && t->data.size() == 1) label = fmt::format("{:g}", t->data.number(0));
    return source(t, kind, {label, spec_text(*t)}, scope);
  }

  void add(const Op& op) {
    std::vector<std::string> scope = scope_of(op);
    const bool collapsed = scope.size() > depth_;
    int at = -1;
    if (collapsed) {
      scope.resize(depth_ + 1);
      const std::string key = fmt::format("{}", fmt::join(scope, "/"));
      auto [found, fresh] = modules_.emplace(key, -1);
      const std::string own = scope.back();
      scope.pop_back();
      if (fresh) found->second = node(ViewNode::module, {own}, scope), view_.nodes.back().ops = 0;
      at = found->second;
      ++view_.nodes[static_cast<size_t>(at)].ops;
    } else {
      std::vector<std::string> labels{std::string(op.row->schedule)};
      for (const Graph* g : op.called) labels.push_back(g->id());
      if (op.stream) labels.push_back(op.stream->name());
      if (!op.outputs.empty()) labels.push_back(spec_text(*op.outputs.front()));
      at = node(op.called.empty() ? ViewNode::op : ViewNode::call, std::move(labels), scope);
      if (!op.called.empty()) view_.nodes[static_cast<size_t>(at)].called = op.called.front();
    }
    view_.nodes[static_cast<size_t>(at)].names.push_back(fmt::format("{}.{}", op.row->schedule, op.id));
    for (const Tensor* t : op.inputs) {
      if (!t) continue;
      // A module's own variables are inside its box.
      const bool inside = collapsed && (t->kind == TensorKind::variable || t->kind == TensorKind::constant);
      if (inside && !made_by_.count(t)) continue;
      connect(node_of(t, scope), at, *t);
    }
    for (const Tensor* t : op.outputs) made_by_[t] = at;
  }

  void connect(int from, int to, const Tensor& t) {
    if (from == to) return;
    auto [found, fresh] = edges_.emplace(std::pair(from, to), view_.edges.size());
    if (fresh) {
      view_.edges.push_back({from, to, spec_text(t), 1});
    } else {
      ViewEdge& e = view_.edges[found->second];
      e.label = fmt::format("{} tensors", ++e.tensors);
    }
  }

  GraphView view_;
  size_t depth_;
  std::unordered_map<const Tensor*, int> made_by_;
  std::unordered_map<std::string, int> modules_;
  std::map<std::pair<int, int>, size_t> edges_;
};

std::string quoted(std::string_view text) {
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

// Nodes of one graph, module within module.
void dot_nodes(std::string& out, const GraphView& view, const std::string& prefix, std::vector<size_t> which,
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
    std::vector<std::string> lines = n.labels;
    if (n.kind == ViewNode::module) lines.push_back(fmt::format("{} op{}", n.ops, n.ops == 1 ? "" : "s"));
    for (const std::string& line : lines) {
      const std::string q = quoted(line);
      label += (label.empty() ? "" : "\\n") + q.substr(1, q.size() - 2);
    }
    const Style style = style_of(n.kind);
    out += fmt::format("{}{}{} [label=\"{}\", shape={}, fillcolor=\"{}\"];\n", space, prefix, n.id, label, style.shape,
                       style.fill);
  }
  for (const std::string& name : order) {
    out += fmt::format(
        "{}subgraph cluster_{} {{\n{}  label={}; style=\"rounded,filled\"; fillcolor=\"#0000000a\"; "
        "color=\"#8c9aa8\";\n",
        space, clusters++, space, quoted(name));
    dot_nodes(out, view, prefix, inner[name], level + 1, clusters, indent + 2);
    out += space + "}\n";
  }
}

}  // namespace

GraphView view_of(const Graph& graph, int depth) { return Builder(graph, depth).run(); }

int levels_of(const Graph& graph) {
  size_t most = 0;
  for (const auto& op : graph.ops()) most = std::max(most, scope_of(*op).size());
  return static_cast<int>(most);
}

int depth_for(const Ir& ir) {
  int depth = 0;
  for (const auto& graph : ir.graphs()) depth = std::max(depth, levels_of(*graph));
  for (; depth > 0; --depth) {
    const bool fits = std::all_of(ir.graphs().begin(), ir.graphs().end(),
                                  [&](const auto& g) { return view_of(*g, depth).nodes.size() <= most_boxes; });
    if (fits) break;
  }
  return depth;
}

std::string dot_text(const Ir& ir, const std::vector<GraphView>& views) {
  std::string out = fmt::format(
      "digraph {} {{\n  compound=true; rankdir=TB; fontname=\"Helvetica\"; fontsize=11; nodesep=0.25; ranksep=0.4;\n"
      "  node [style=filled, fontname=\"Helvetica\", fontsize=10, color=\"#5b6770\", margin=\"0.08,0.04\", "
      "height=0.3];\n"
      "  edge [fontname=\"Helvetica\", fontsize=8, color=\"#5b6770\", fontcolor=\"#5b6770\", arrowsize=0.6];\n",
      quoted(ir.name()));
  int clusters = 0;
  std::map<const Graph*, std::pair<int, size_t>> place;  // its cluster, and its view
  for (size_t g = 0; g < views.size(); ++g) {
    const GraphView& view = views[g];
    const size_t calls = view.graph->call_sites().size();
    std::string title = view.graph->is_main() ? ir.name() : view.graph->id();
    if (calls) title += fmt::format(", called {}", calls == 1 ? "once" : fmt::format("{} times", calls));
    place[view.graph] = {clusters, g};
    out += fmt::format(
        "  subgraph cluster_{} {{\n    label={}; labeljust=l; fontsize=12; style=rounded; color=\"#33475b\";\n",
        clusters++, quoted(title));
    std::vector<size_t> all(view.nodes.size());
    for (size_t i = 0; i < all.size(); ++i) all[i] = i;
    const std::string prefix = fmt::format("g{}_", g);
    dot_nodes(out, view, prefix, all, 0, clusters, 4);
    // Shapes stand at the boxes; edges say what a box of many ops gives.
    for (const ViewEdge& e : view.edges) {
      const ViewNode& from = view.nodes[static_cast<size_t>(e.from)];
      const bool label = from.kind == ViewNode::module || e.tensors > 1;
      out += fmt::format("    {}{} -> {}{}{};\n", prefix, from.id, prefix, view.nodes[static_cast<size_t>(e.to)].id,
                         label ? fmt::format(" [label={}]", quoted(e.label)) : std::string());
    }
    out += "  }\n";
  }
  // Where each graph is called from, while that is few lines.
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

}  // namespace pxl::cli
