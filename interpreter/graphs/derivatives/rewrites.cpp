// Transforms of whole programs: outline, inline, decompose_sum and repeat_graph give a new ir with the names of the old
// one.
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/transform/decompose_sum.hpp"
#include "runtime/transform/inline.hpp"
#include "runtime/transform/loops/repeat_graph.hpp"
#include "runtime/transform/outline.hpp"

namespace pxl {
namespace {

/// Maps values of the old ir to values of the new ir, or to nullopt if they have no counterpart.
class Translator {
 public:
  Translator(Interpreter& in, const Ir& from, const Rewritten& to) : in_(in), from_(from), to_(to) {}

  std::optional<Value> value(const Value& v) {
    const DepthGuard depth(in_);
    if (auto* t = v.as<TensorObject>()) {
      if (t->ir.get() != &from_) return v;
      const auto found = to_.tensors.find(t->tensor);
      if (found == to_.tensors.end()) return std::nullopt;
      return tensor_value(to_.ir, found->second);
    }
    if (auto* s = v.as<StreamObject>()) {
      if (s->ir.get() != &from_) return v;
      return Value(make_ref<StreamObject>(to_.ir, to_.streams.at(s->stream)));
    }
    if (auto* g = v.as<GraphObject>()) return graph(*g);
    if (auto* b = v.as<BoundGraphObject>()) return bound(*b);
    if (auto* list = v.as<SequenceObject>()) {
      std::vector<Value> items;
      for (const Value& item : list->items) {
        const auto made = value(item);
        if (!made) return std::nullopt;
        items.push_back(*made);
      }
      return v.as<TupleObject>() ? make_tuple(std::move(items)) : make_list(std::move(items));
    }
    if (auto* tree = v.as<TreeObject>()) {
      TreePtr made = make_tree(tree->kind);
      for (const auto& [name, leaf] : tree->leaves()) {
        const auto item = value(leaf);
        if (!item) return std::nullopt;
        made->insert(name, *item);
      }
      return Value(made);
    }
    // These values describe single calls and ops of the old program.
    if (v.as<CallInfoObject>() || v.as<OpObject>() || v.as<GradGraphObject>() || v.as<GradientsObject>())
      return std::nullopt;
    return v;
  }

 private:
  std::optional<Value> graph(const GraphObject& g) const {
    if (g.ir.get() != &from_) return graph_value(g.ir, g.graph);
    const auto found = to_.graphs.find(g.graph);
    if (found == to_.graphs.end()) return std::nullopt;
    return graph_value(to_.ir, found->second);
  }

  std::optional<Value> bound(const BoundGraphObject& b) {
    const auto made_graph = graph(*b.graph);
    const auto vars = value(Value(b.vars));
    const auto states = value(Value(b.states));
    if (!made_graph || !vars || !states) return std::nullopt;
    auto made = make_ref<BoundGraphObject>();
    made->graph = made_graph->ptr<GraphObject>();
    made->vars = vars->ptr<TreeObject>();
    made->states = states->ptr<TreeObject>();
    for (const auto& [input, v] : b.inputs) {
      const auto at = to_.tensors.find(input);
      const auto item = value(v);
      if (at == to_.tensors.end() || !item) return std::nullopt;
      made->inputs[at->second] = *item;
    }
    return Value(made);
  }

  Interpreter& in_;
  const Ir& from_;
  const Rewritten& to_;
};

/// The new ir as a value, with the names that have a counterpart and the facts about its graphs.
Value rewritten_value(Interpreter& in, const IrObject& old, const Rewritten& made) {
  auto result = make_ref<IrObject>();
  result->ir = made.ir;
  result->fields = make_ref<Scope>(old.fields ? old.fields->outer : evaluator_of(in).prelude());
  const std::map<const Graph*, const GraphFacts> known = [&] {
    std::map<const Graph*, const GraphFacts> facts;
    for (const auto& [graph, f] : graphs_of(in).world().of(old.ir).graphs) facts.emplace(graph, f);
    return facts;
  }();
  auto& world = graphs_of(in).world().of(made.ir);
  world.fields = result->fields;
  for (const auto& [graph, facts] : known) {
    const auto at = made.graphs.find(graph);
    if (at == made.graphs.end()) continue;
    GraphFacts copy = facts;
    copy.names.clear();
    copy.differentiable.reset();
    world.graphs[at->second] = std::move(copy);
  }
  if (!old.fields || old.ir == graphs_of(in).implicit_ir()) return result;
  Translator translate(in, *old.ir, made);
  for (const auto& [name, value] : old.fields->entries())
    if (const auto item = translate.value(value)) result->fields->bind(name, *item);
  return result;
}

void refuse_inside(Interpreter& in, const IrObject& ir, const char* what) {
  if (graphs_of(in).in_program() && graphs_of(in).targets().back().ir == ir.ir)
    throw Error(std::string(what) + " takes a program that is complete, but `" + ir.ir->name() + "` is being built",
                {std::string("apply it to what the program gives: `") + what + "(" + ir.ir->name() + "())`"})
        .as(codes::program);
}

}  // namespace

void bind_rewrite_builtins(Scope& p) {
  define(p, no_effects,
         {"outline(ir, threshold = 1.0)",
          "A new ir in which sequences of ops that occur several times are calls of one graph.", R"(program p {
  x = constant([1.0, 2.0])
  for i in range(4) { x = gelu(x * 2 + 1) }
  stream out y = x
}
len(outline(p()).graphs))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Value holder;
           const IrObject* ir = to_ir(in, a.value("ir"), "outline", holder);
           refuse_inside(in, *ir, "outline");
           return rewritten_value(in, *ir, outline(*ir->ir, a.number("threshold")));
         });
  define(p, no_effects,
         {"inline(ir, graphs = none)",
          "A new ir in which the ops of the called graph replace its calls, for all graphs or the given ones.",
          R"(def twice(x) { return x * 2 }
program p {
  graph = ir.create_graph(twice, float32[2])
  stream out y = call(graph, constant([1.0, 2.0]))
}
len(inline(p()).main_graph.ops))"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Value holder;
           const IrObject* ir = to_ir(in, a.value("ir"), "inline", holder);
           refuse_inside(in, *ir, "inline");
           std::set<const Graph*> chosen;
           if (a.has("graphs")) {
             const Value given = a.value("graphs");
             const std::vector<Value> list =
                 given.as<SequenceObject>() ? elements_of(in, given) : std::vector<Value>{given};
             for (const Value& g : list) chosen.insert(to_graph(g, "inline")->graph);
           }
           return rewritten_value(
               in, *ir, inline_calls(*ir->ir, [&](const Graph& g) { return chosen.empty() || chosen.count(&g) > 0; }));
         });
  define(p, no_effects,
         {"decompose_sum(ir)", "A new ir in which sums of several tensors are additions one after the other.",
          R"(program p {
  variable a: float32[2] = 1
  stream out y = a * 2 + a * 3 + a * 4
}
Session(decompose_sum(p())).run())"},
         [](Interpreter& in, Arguments args) -> Value {
           ArgReader a(args);
           Value holder;
           const IrObject* ir = to_ir(in, a.value("ir"), "decompose_sum", holder);
           refuse_inside(in, *ir, "decompose_sum");
           return rewritten_value(in, *ir, decompose_sums(*ir->ir));
         });
  define(
      p, no_effects,
      {"repeat_graph(ir, count)",
       "A new ir whose main graph runs that of the old one a number of times, with a sample of each stream each time.",
       R"(program p {
  variable count: float32[] = 0
  with in_sequence() {
    add_(count, 1.0)
    stream out y = count + 0
  }
}
Session(repeat_graph(p(), 3)).run())"},
      [](Interpreter& in, Arguments args) -> Value {
        ArgReader a(args);
        Value holder;
        const IrObject* ir = to_ir(in, a.value("ir"), "repeat_graph", holder);
        refuse_inside(in, *ir, "repeat_graph");
        return rewritten_value(in, *ir, repeat_graph(*ir->ir, a.integer("count")));
      });
}

}  // namespace pxl
