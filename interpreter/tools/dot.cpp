#include "interpreter/tools/dot.hpp"

#include <fmt/format.h>

#include <map>
#include <vector>

#include "runtime/graph/schedule.hpp"

namespace pxl {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

class Writer {
 public:
  std::string run(const Graph& graph) {
    out_ = "digraph " + quoted(graph.is_main() ? graph.title() : graph.id()) +
           " {\n  rankdir = TB;\n  node [fontname = \"sans-serif\", fontsize = 10];\n  edge [fontname = "
           "\"sans-serif\", fontsize = 9];\n";
    draw(graph);
    for (size_t i = 0; i < waiting_.size(); ++i) draw(*waiting_[i]);
    return out_ + calls_ + "}\n";
  }

 private:
  int number(const Graph& g) {
    const auto [it, fresh] = numbers_.emplace(&g, static_cast<int>(numbers_.size()));
    return it->second;
  }
  std::string tensor(const Tensor* t) {
    return fmt::format("t{}_{}", number(*t->graph), tensors_.emplace(t, tensors_.size()).first->second);
  }
  static std::string op(const Op* o) { return fmt::format("op{}", o->id); }

  void draw(const Graph& g) {
    const std::string title = g.is_main() ? g.title() : g.id();
    out_ += fmt::format("  subgraph cluster_{} {{\n    label = {};\n", number(g), quoted(title));
    for (const auto& t : g.tensors()) {
      if (t->producer || t->kind == TensorKind::stream) continue;
      const std::string& name = t->key.empty() ? t->name : t->key;
      out_ +=
          fmt::format("    {} [shape = ellipse, label = {}];\n", tensor(t.get()), quoted(name + " " + text(t->spec)));
    }
    for (const Op* o : schedule_order(g))
      out_ += fmt::format("    {} [shape = box, label = {}];\n", op(o),
                          quoted(fmt::format("{}.{}", o->row->schedule, o->id)));
    int outputs = 0;
    for (size_t i = 0; i < g.outputs().size(); ++i)
      out_ += fmt::format("    out{}_{} [shape = plaintext, label = \"output {}\"];\n", number(g), outputs++, i);
    out_ += "  }\n";
    for (const Op* o : schedule_order(g)) {
      for (const Tensor* t : o->inputs)
        if (t) edge(t, op(o));
      for (const Graph* called : o->called) {
        const bool known = numbers_.count(called) > 0;
        calls_ += fmt::format("  {} -> {} [style = dotted, constraint = false, lhead = cluster_{}];\n", op(o),
                              anchor(*called), number(*called));
        if (!known) waiting_.push_back(called);
      }
    }
    for (size_t i = 0; i < g.outputs().size(); ++i) edge(g.outputs()[i], fmt::format("out{}_{}", number(g), i));
  }
  std::string anchor(const Graph& g) {
    if (!g.ops().empty()) return op(g.ops().front().get());
    return g.inputs().empty() ? fmt::format("out{}_0", number(g)) : tensor(g.inputs().front());
  }
  void edge(const Tensor* from, const std::string& to) {
    out_ += fmt::format("  {} -> {} [label = {}];\n", from->producer ? op(from->producer) : tensor(from), to,
                        quoted(text(from->spec)));
  }

  std::string out_, calls_;
  std::map<const Graph*, int> numbers_;
  std::map<const Tensor*, size_t> tensors_;
  std::vector<const Graph*> waiting_;
};

}  // namespace

std::string dot_text(const Graph& graph) { return Writer().run(graph); }

}  // namespace pxl
