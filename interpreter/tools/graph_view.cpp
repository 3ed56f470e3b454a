#include "interpreter/tools/graph_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "interpreter/tools/equal_graphs.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/op_scopes.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl {

namespace {

// "blocks.12" is number 12 of "blocks"; names without a number have -1.
std::pair<std::string, int64_t> numbered(const std::string& name) {
  const size_t dot = name.rfind('.');
  if (dot == name.npos || name.size() - dot > 10) return {name, -1};
  return {name.substr(0, dot), std::stoll(name.substr(dot + 1))};
}

// Whether the tensor is a param: its name contains the field that holds its module.
bool belongs_to_module(const Tensor& t) { return t.key.find('.') != std::string::npos; }

std::string spec_text(const Tensor& t) { return text(t.spec); }

class DrawnGraphBuilder {
 public:
  DrawnGraphBuilder(const Graph& graph, Detail detail)
      : depth_(static_cast<size_t>(std::max(detail.depth, 0))), fold_(std::max(detail.fold, 1)) {
    view_.graph = &graph;
    scopes_ = op_scopes(graph);
  }

  DrawnGraph run() {
    const Graph& graph = *view_.graph;
    for (const Tensor* t : graph.inputs())
      if (!(fold_ > 1 && belongs_to_module(*t))) made_by_[t] = tensor_node(*t, ViewNode::input, t->key, {});
    for (const Op* op : schedule_order(graph)) add(*op);
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      const Tensor* t = graph.outputs()[i];
      const int from = node_of(t, {});
      const int to = tensor_node(*t, ViewNode::output, fmt::format("output {}", i), {});
      connect(from, to, *t);
    }
    finish_labels();
    return std::move(view_);
  }

 private:
  /// Properties of a box that are known once it has all its members.
  struct Members {
    std::string first, last;                            ///< names of the members
    std::vector<std::pair<std::string_view, int>> ops;  ///< number of each op, in order of first occurrence
  };

  ViewNode& at(int node) { return view_.nodes[static_cast<size_t>(node)]; }

  int node(ViewNode::Kind kind, std::vector<std::string> labels, std::vector<std::string> scope) {
    ViewNode n;
    n.id = fmt::format("n{}", view_.nodes.size());
    n.kind = kind;
    n.labels = std::move(labels);
    n.scope = std::move(scope);
    n.members = 0;
    view_.nodes.push_back(std::move(n));
    members_.emplace_back();
    return static_cast<int>(view_.nodes.size() - 1);
  }

  /// The box for the next node of a kind within a scope: a new box, or the box of adjacent nodes.
  int folded(ViewNode::Kind kind, std::string_view what, const std::vector<std::string>& scope) {
    if (fold_ == 1) return node(kind, {}, scope);
    Row& row = rows_[fmt::format("{}:{}:{}", static_cast<int>(kind), what, join_texts(scope, "/"))];
    if (row.count++ % fold_ == 0) row.node = node(kind, {}, scope);
    return row.node;
  }

  void join(int box, const std::string& name, std::string_view op = {}) {
    ViewNode& n = at(box);
    Members& m = members_[static_cast<size_t>(box)];
    if (n.members++ == 0) m.first = name;
    m.last = name;
    if (op.empty()) return;
    auto found = std::find_if(m.ops.begin(), m.ops.end(), [&](const auto& entry) { return entry.first == op; });
    found == m.ops.end() ? void(m.ops.emplace_back(op, 1)) : void(++found->second);
  }

  int tensor_node(const Tensor& t, ViewNode::Kind kind, const std::string& key, const std::vector<std::string>& scope) {
    const int box = folded(kind, "", scope);
    const std::string name = key.empty() ? t.name : key;
    if (at(box).members == 0) at(box).labels = {name, spec_text(t)};
    join(box, name);
    return box;
  }

  // Variables and constants are drawn at their first use.
  int node_of(const Tensor* t, const std::vector<std::string>& scope) {
    if (const auto found = made_by_.find(t); found != made_by_.end()) return found->second;
    const ViewNode::Kind kind = t->kind == TensorKind::variable   ? ViewNode::variable
                                : t->kind == TensorKind::constant ? ViewNode::constant
                                                                  : ViewNode::input;
    std::string label;
    if (t->kind == TensorKind::constant && t->data.size() == 1 && t->data.has_elements())
      label = fmt::format("{:g}", t->data.number(0));
    return made_by_[t] = tensor_node(*t, kind, label, scope);
  }

  // The box of a module. Adjacent modules of a list share one.
  int module_node(std::vector<std::string> scope) {
    scope.resize(depth_ + 1);
    const std::string own = scope.back();
    scope.pop_back();
    const auto [list, number] = numbered(own);
    const std::string box = fold_ > 1 && number >= 0 ? fmt::format("{}.#{}", list, number / fold_) : own;
    auto [found, fresh] = modules_.emplace(fmt::format("{}/{}", join_texts(scope, "/"), box), -1);
    if (fresh) found->second = node(ViewNode::module, {own}, scope);
    // The label shows the range of numbers: "blocks.0 to blocks.7".
    if (std::string& label = at(found->second).labels.front(); label != own && number >= 0) {
      const std::string first = label.substr(0, label.find(' '));
      const int64_t last = label.find(' ') == label.npos ? -1 : numbered(label).second;
      if (number > std::max(last, numbered(first).second)) label = fmt::format("{} to {}.{}", first, list, number);
    }
    return found->second;
  }

  void add(const Op& op) {
    std::vector<std::string> scope = scopes_.at(&op);
    const bool collapsed = scope.size() > depth_;
    int box = -1;
    if (collapsed) {
      box = module_node(scope);
      scope.resize(depth_);
    } else if (op.called.empty()) {
      box = folded(ViewNode::op, op.stream ? op.stream->name() : "", scope);
    } else {
      box = folded(ViewNode::call, op.called.front()->id(), scope);
      at(box).called = op.called.front();
    }
    if (!collapsed && at(box).members == 0) {
      std::vector<std::string> labels{std::string(op.row->schedule)};
      for (const Graph* g : op.called) labels.push_back(g->id());
      if (op.stream) labels.push_back(op.stream->name());
      if (!op.outputs.empty()) labels.push_back(spec_text(*op.outputs.front()));
      at(box).labels = std::move(labels);
    }
    join(box, std::string(op.row->schedule), op.row->schedule);
    at(box).names.push_back(fmt::format("{}.{}", op.row->schedule, op.id));
    // If only a box of several nodes uses params, variables and constants, they are part of that box.
    const bool many = collapsed || fold_ > 1;
    for (const Tensor* t : op.inputs) {
      if (!t) continue;
      const bool inside =
          many && (t->kind == TensorKind::variable || t->kind == TensorKind::constant || belongs_to_module(*t));
      if (inside && !made_by_.count(t)) continue;
      connect(node_of(t, scope), box, *t);
    }
    for (const Tensor* t : op.outputs) made_by_[t] = box;
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

  // Boxes with several nodes show the number of each kind.
  void finish_labels() {
    constexpr size_t kinds_shown = 3;
    for (size_t i = 0; i < view_.nodes.size(); ++i) {
      ViewNode& n = view_.nodes[i];
      const Members& m = members_[i];
      if (n.kind == ViewNode::module) n.labels.push_back(fmt::format("{} op{}", n.members, n.members == 1 ? "" : "s"));
      if (n.kind == ViewNode::module || n.members == 1) continue;
      if (n.kind == ViewNode::call) {
        n.labels = {fmt::format("{} calls", n.members), n.called->id()};
      } else if (n.kind == ViewNode::op) {
        n.labels = {fmt::format("{} ops", n.members)};
        std::vector<std::pair<std::string_view, int>> most = m.ops;
        std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
        for (size_t k = 0; k < std::min(most.size(), kinds_shown); ++k)
          n.labels.push_back(most[k].second == 1 ? std::string(most[k].first)
                                                 : fmt::format("{} {}", most[k].second, most[k].first));
        if (most.size() > kinds_shown) n.labels.push_back("...");
      } else {
        static constexpr std::string_view nouns[] = {"", "", "", "inputs", "outputs", "variables", "constants"};
        n.labels = {fmt::format("{} {}", n.members, nouns[n.kind]), m.first, "to " + m.last};
      }
    }
  }

  struct Row {
    int count = 0;
    int node = -1;
  };
  DrawnGraph view_;
  std::unordered_map<const Op*, ModulePath> scopes_;
  size_t depth_;
  int fold_;
  std::vector<Members> members_;
  std::unordered_map<std::string, Row> rows_;
  std::unordered_map<const Tensor*, int> made_by_;
  std::unordered_map<std::string, int> modules_;
  std::map<std::pair<int, int>, size_t> edges_;
};

bool fits(const std::vector<const Graph*>& graphs, Detail detail) {
  size_t together = 0;
  for (const Graph* g : graphs) {
    const size_t boxes = view_of(*g, detail).nodes.size();
    together += boxes;
    if (boxes > max_boxes || together > max_total_boxes) return false;
  }
  return true;
}

}  // namespace

DrawnGraph view_of(const Graph& graph, Detail detail) { return DrawnGraphBuilder(graph, detail).run(); }

std::vector<DrawnGraph> views_of(const std::vector<const Graph*>& graphs, int depth) {
  const GraphClasses classes = classes_of(graphs);
  std::unordered_map<size_t, size_t> drawn;  // number of given graphs in each class
  std::vector<const Graph*> first;
  for (const Graph* graph : graphs)
    if (++drawn[classes.of.at(graph)] == 1) first.push_back(graph);
  const Detail detail = detail_for(first, depth);
  std::vector<DrawnGraph> views;
  std::unordered_map<size_t, const Graph*> shown;
  for (const Graph* graph : first) {
    views.push_back(view_of(*graph, detail));
    const size_t of = classes.of.at(graph);
    views.back().equal = drawn[of];
    shown[of] = graph;
  }
  for (DrawnGraph& view : views)
    for (ViewNode& node : view.nodes)
      if (node.called)
        if (const auto found = shown.find(classes.of.at(node.called)); found != shown.end())
          node.called = found->second;
  return views;
}

int levels_of(const Graph& graph) {
  size_t most = 0;
  for (const auto& [op, scope] : op_scopes(graph)) most = std::max(most, scope.size());
  return static_cast<int>(most);
}

Detail detail_for(const std::vector<const Graph*>& graphs, int depth) {
  constexpr int max_folded = 1 << 16;
  if (depth >= 0) return {depth, 1};
  Detail detail;
  for (const Graph* g : graphs) detail.depth = std::max(detail.depth, levels_of(*g));
  while (detail.depth > 0 && !fits(graphs, detail)) --detail.depth;
  while (detail.fold < max_folded && !fits(graphs, detail)) detail.fold *= 2;
  return detail;
}

}  // namespace pxl
