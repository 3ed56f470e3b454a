// Prints schedules. Tensors are numbered in order of first appearance.
#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "runtime/graph/schedule.hpp"
#include "runtime/graph/states.hpp"

namespace pxl {

namespace {

class Printer {
 public:
  std::string print(const Graph& graph) {
    add("Graph : {}\n  (", graph.name());
    const char* separator = "";
    const size_t first_captured = graph.inputs().size() - graph.captured_inputs();
    for (size_t i = 0; i < graph.inputs().size(); ++i) {
      const Tensor* t = graph.inputs()[i];
      if (i == first_captured) separator = "; ";
      const std::string& name = i < first_captured ? t->key : t->name;
      add("{}{}{}%{}", separator, name, name.empty() ? "" : "=", number(t));
      separator = ", ";
    }
    // The graph's outputs are on the first line, but numbered last.
    std::string body;
    std::swap(body, text_);
    for (const Op* op : schedule_order(graph)) print(*op);
    std::swap(body, text_);
    text_ += ") -> (";
    separator = "";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
      add("{}{}%{}", separator, next_of(graph, i), number(graph.outputs()[i]));
      separator = ", ";
    }
    text_ += ") {\n" + body + "  }";
    return std::move(text_);
  }

 private:
  template <class... T>
  void add(fmt::format_string<T...> form, T&&... values) {
    text_ += fmt::format(form, std::forward<T>(values)...);
  }

  size_t number(const Tensor* t) { return numbers_.emplace(t, numbers_.size() + 1).first->second; }

  /// "running_mean=" for the next value of a state; empty for other outputs.
  static std::string next_of(const Graph& graph, size_t output) {
    for (const GraphState& s : states_of(graph))
      if (s.next == output) return (s.input->key.empty() ? s.input->name : s.input->key) + "=";
    return {};
  }

  void print(const Op& op) {
    add("    {}.{}", op.row->schedule, op.id);
    if (op.row->role == Role::call || op.row->role == Role::loop) add("({})", op.called.at(0)->id());
    text_ += " (";
    print(op.inputs);
    text_ += ") -> (";
    print(op.outputs);
    text_ += ")\n";
  }

  void print(const std::vector<Tensor*>& tensors) {
    const char* separator = "";
    for (const Tensor* t : tensors) {
      if (!t) continue;
      add("{}%{} [{} {}]", separator, number(t), tuple_text(t->spec.shape), name(t->spec.dtype));
      separator = ", ";
    }
  }

  std::string text_;
  std::unordered_map<const Tensor*, size_t> numbers_;
};

}  // namespace

std::string print_schedule(const Graph& graph) { return Printer().print(graph); }

}  // namespace pxl
