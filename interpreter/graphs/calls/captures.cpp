// Captures: if a function uses tensors of enclosing graphs, they become inputs of the function's graph.
#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {
namespace {

/// The name of a captured tensor among the inputs: "net.fc1.weight".
std::string captured_name(const Tensor& t) {
  std::string name = t.key.empty() ? t.name : t.key;
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

/// The tensor that represents `t` in the target at `level`; null if `t` is out of reach.
Tensor* reach(const std::vector<BuildTarget>& targets, size_t level, Tensor* t) {
  const BuildTarget& at = targets[level];
  if (at.graph == t->graph) return t;
  if (level == 0 || !at.captures || at.ir.get() != &t->graph->ir()) return nullptr;
  Tensor* outer = reach(targets, level - 1, t);
  if (!outer) return nullptr;
  for (const Captures::One& known : at.captures->all)
    if (known.outer == outer && !known.is_state) return known.input;
  Tensor* input = add_captured(*at.graph, *t);
  at.captures->all.push_back({input, outer, t});
  return input;
}

/// The first op in a graph that changes a tensor's memory; null if none does.
const Op* change_of(const Graph& graph, Tensor* t) {
  for (const auto& op : graph.ops())
    for (size_t slot = 0; slot < op->inputs.size(); ++slot)
      if (op->inputs[slot] && op->modifies(slot) && is_memory_of(op->inputs[slot], t)) return op.get();
  return nullptr;
}

/// The tensor that owns the memory of `t`, or the memory of which `t` is a part.
Tensor* memory_root(Tensor* t) {
  Tensor* root = t;
  each_alias(t, [&](Tensor* alias) {
    root = alias;
    return false;
  });
  return root;
}

/// Whether a function may change a tensor of the enclosing graph.
bool is_changeable(const Tensor& root, const Captures* around) {
  if (root.kind == TensorKind::variable || root.by_ref) return true;
  if (!around) return false;
  return std::any_of(around->all.begin(), around->all.end(), [&](const Captures::One& c) { return c.input == &root; });
}

[[noreturn]] void refuse(const Op& at, std::string message, std::vector<std::string> notes) {
  Error e(std::move(message), std::move(notes));
  e.as(codes::in_place);
  e.locate(at.origin.span, at.origin.frames);
  throw e;
}

}  // namespace

Tensor* add_captured(Graph& graph, const Tensor& outer) {
  Ir& ir = graph.ir();
  std::vector<std::string> scopes;
  scopes.swap(ir.name_scopes);  // an input of the whole graph, whatever module uses it first
  Tensor* input = graph.add_input(outer.spec, captured_name(outer));
  scopes.swap(ir.name_scopes);
  return input;
}

Tensor* reached(Interpreter& in, Tensor* t) {
  const auto& targets = graphs_of(in).targets();
  if (!t || targets.empty()) return t;
  Tensor* found = reach(targets, targets.size() - 1, t);
  return found ? found : t;
}

bool is_memory_of(Tensor* t, const Tensor* of) {
  bool found = false;
  each_alias(t, [&](Tensor* alias) { return found = alias == of; });
  return found;
}

void pass_changes_by_reference(const Graph& graph, const Captures& captures, const Captures* around,
                               const std::string& what) {
  for (const Captures::One& c : captures.all) {
    const Op* change = change_of(graph, c.input);
    if (!change) continue;
    if (c.is_state)
      refuse(*change, "state `" + c.origin->name + "` is changed in place in " + what,
             {"the build of its module gives its next value: `next NAME = VALUE`"});
    Tensor* root = memory_root(c.outer);
    if (!is_changeable(*root, around))
      refuse(*change, "`" + shown_name(*c.outer) + "` is changed in place in " + what + ", but it is no variable",
             {"return the new value; a function changes variables and `ref` inputs of the graph around it alone"});
    for (const Captures::One& other : captures.all) {
      if (other.input == c.input || memory_root(other.outer) != root || other.input->consumers.empty()) continue;
      const Origin& read = other.input->consumers.front()->origin;
      std::vector<std::string> notes{"read one of them after the call, or pass the value as an argument"};
      if (read.span) notes.insert(notes.begin(), "it is read at " + place_text(read.span));
      refuse(*change,
             "`" + shown_name(*c.outer) + "` is changed in place in " + what + ", which also reads its memory as `" +
                 shown_name(*other.outer) + "`",
             std::move(notes));
    }
    c.input->by_ref = true;
  }
}

}  // namespace pxl
