// Bound graphs: graphs with tensors for their named inputs.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

/// A tensor as an input of a graph has it: for a variable of another program, the variable here that is in its memory.
Value in_program_of(const GraphObject& g, const Value& leaf, const std::string& name) {
  const Tensor* t = as_tensor(leaf);
  if (!t || &t->graph->ir() == g.ir.get()) return leaf;
  if (t->kind != TensorKind::variable)
    throw Error("bind: `" + name + "` is `" + shown_name(*t) + "` of program " + t->graph->ir().name() +
                    ", which is no variable",
                {"programs share variables: other tensors have a value only in a run of their own program"})
        .as(codes::other_graph);
  return tensor_value(g.ir, g.ir->main().share_variable(leaf.as<TensorObject>()->ir, *t));
}

}  // namespace

Value bind_graph(Interpreter& in, const Ref<GraphObject>& g, const BoundGraphObject* before, const Arguments& args) {
  auto bound = make_ref<BoundGraphObject>();
  bound->graph = g;
  if (before) bound->inputs = before->inputs;
  bound->vars = before ? before->vars->copy() : make_tree(TreeKind::tensors);
  bound->states = before ? before->states->copy() : make_tree(TreeKind::tensors);
  if (args.positional.size() > 1)
    throw Error("bind takes one tree of tensors, got " + std::to_string(args.positional.size()) + " arguments")
        .as(codes::bind);
  TreePtr tree;
  bool of_bound = false;  // whose further states are ignored
  if (!args.positional.empty() && !args.positional[0].is_none()) {
    const Value& given = args.positional[0];
    if (auto* d = given.as<DictObject>()) {
      tree = make_tree(TreeKind::tensors);
      for (const auto& [k, v] : d->items) {
        if (Tensor* input = as_tensor(k)) {
          if (std::find(g->graph->inputs().begin(), g->graph->inputs().end(), input) == g->graph->inputs().end())
            throw Error("bind: tensor `" + shown_name(*input) + "` is no input of " + shown_name(*g->graph))
                .as(codes::bind);
          bound->inputs[input] = in_program_of(*g, v, shown_name(*input));
        } else if (const std::string* name = k.as_string()) {
          tree->insert(*name, v);
        } else {
          type_error("bind: keys are names or inputs of the graph, got " + k.type_name());
        }
      }
      if (tree->items.empty()) return bound;
    } else if (auto* other = given.as<BoundGraphObject>()) {
      of_bound = true;
      tree = other->vars->copy();
      for (auto& [name, leaf] : other->states->leaves()) tree->insert(name, leaf, true);
    } else if (auto t = given.ptr<TreeObject>()) {
      if (t->kind == TreeKind::factories)
        throw Error("bind takes tensors, got variable factories", {"`graph.bind(facts.init())` makes their variables"})
            .as(codes::bind)
            .offer(args.spans.empty() ? Span() : Span{args.spans[0].file, args.spans[0].end, args.spans[0].end},
                   ".init()", "Add `.init()`");
      tree = t;
    } else {
      type_error("bind takes a named tree, got " + with_article(given.type_name()));
    }
  }
  if (!args.named.empty()) {
    tree = tree ? tree->copy() : make_tree(TreeKind::tensors);
    for (const NamedArg& n : args.named) tree->insert(n.name, n.value);
  }
  if (!tree) return bound;
  std::unordered_map<std::string, Tensor*> inputs;
  std::vector<std::string> names;
  for (Tensor* t : g->graph->inputs())
    if (!t->key.empty()) {
      inputs[t->key] = t;
      names.push_back(t->key);
    }
  for (const auto& [name, given] : tree->leaves()) {
    auto it = inputs.find(name);
    if (it == inputs.end() && of_bound && args.positional[0].as<BoundGraphObject>()->states->find(name)) continue;
    if (it == inputs.end()) {
      std::string hint = did_you_mean(name, names);
      throw Error(
          "bind: " + shown_name(*g->graph) + " has no input named `" + name + "`" + (hint.empty() ? "" : "; " + hint),
          {"its named inputs: " + (names.empty() ? std::string("none") : join_texts(names, ", "))})
          .as(codes::bind);
    }
    if (!as_tensor(given)) type_error("bind: `" + name + "` must be a tensor, got " + given.type_name());
    const Value leaf = in_program_of(*g, given, name);
    if (as_tensor(leaf)->spec != it->second->spec)
      throw Error("bind: input `" + name + "` of " + shown_name(*g->graph) + " is " + text(it->second->spec) +
                  ", but `" + as_tensor(leaf)->name + "` is " + text(as_tensor(leaf)->spec))
          .as(codes::bind);
    bound->inputs[it->second] = leaf;
    (is_state_of(*g->graph, it->second) ? bound->states : bound->vars)->insert(name, leaf, true);
  }
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!bound->inputs.count(inputs[name]) && facts_of(in, g->ir, g->graph).with_factory.count(name))
      missing.push_back(name);
  if (!missing.empty())
    throw Error("bind: nothing is given for " + fmt::format("`{}`", join_texts(missing, "`, `")) + " of " +
                    shown_name(*g->graph),
                {"bind a tree with all its named inputs: `facts.init()` makes one"})
        .as(codes::bind);
  return bound;
}

namespace {

using In = Interpreter&;
using A = const Arguments&;
using Got = std::optional<Value>;

using BoundRef = BoundGraphObject&;
constexpr Member<BoundGraphObject> bound_rows[] = {
    {"vars", "The tensors that were bound, as a tree.", "layer.vars",
     [](In, BoundRef b) -> Got { return Value(b.vars); }},
    {"states", "The states that were bound, as a tree.", "layer.states",
     [](In, BoundRef b) -> Got { return Value(b.states); }},
    {"graph", "The graph without its tensors.", "layer.graph", [](In, BoundRef b) -> Got { return Value(b.graph); }},
    {"subgraph_io_map", "A dict from inputs of the graph to the tensors that were bound.", "layer.subgraph_io_map",
     [](In, BoundRef b) -> Got {
       auto d = make_ref<DictObject>();
       for (Tensor* t : b.graph->graph->inputs())
         if (auto it = b.inputs.find(t); it != b.inputs.end()) d->put(tensor_value(b.graph->ir, t), it->second);
       return Value(d);
     }},
    {"bind", "(tree, name = tensor, ...)", "A bound graph with these tensors as well.",
     "layer.bind({'bias': variable([1.0, 2.0, 3.0], name = 'other')}).vars.bias",
     [](In in, BoundRef b, A args) { return bind_graph(in, b.graph, &b, args); }},
    {"with", "(tree)",
     "The same graph with other tensors, computed or not, for the names of a tree; the other names keep theirs.",
     "layer.with({'bias': variable([1.0, 2.0, 3.0], name = 'other')}).vars.bias",
     [](In in, BoundRef b, A args) {
       ArgReader a(args);
       Arguments tree;
       tree.span = args.span;
       const Value given = a.value("tree");
       auto* g = given.as<GradientsObject>();
       tree.positional.push_back(g ? Value(g->tree()) : given);
       return bind_graph(in, b.graph, &b, tree);
     }},
    {"frozen", "()", "The same graph, bound to the same tensors: its calls read states, and write none.",
     "layer.frozen().vars",
     [](In in, BoundRef b, A args) -> Value {
       ArgReader a(args);
       const Callable made = frozen_states(in, {b.graph->ir, b.graph->graph, b.all_inputs(), b.vars});
       if (made.graph == b.graph->graph) return Value(static_ref_cast<BoundGraphObject>(b.shared_from_this()));
       auto frozen = make_ref<BoundGraphObject>();
       frozen->graph = graph_value(made.ir, made.graph).ptr<GraphObject>();
       frozen->graph->origin = b.graph->origin;
       frozen->vars = b.vars;
       frozen->states = b.states;
       frozen->inputs = made.inputs;
       return Value(frozen);
     }},
    {"call", "(*inputs, inputs = none)", "Calls the graph: `layer(x)`, by its long name.", "layer.call(ones([2, 4]))",
     [](In in, BoundRef b, A args) { return b.call(in, args); }},
    {"call_with_info", "(*inputs, inputs = none)",
     "Calls the graph and returns the call info: outputs, and `backward` for gradients.",
     "layer.call_with_info(ones([2, 4]))",
     [](In in, BoundRef b, A args) -> Value {
       return make_ref<CallInfoObject>(b.graph->ir, emit_call(in, b.graph->ir, *b.graph->graph, b.all_inputs(), args),
                                       b.vars);
     }},
};
constexpr std::span<const Member<BoundGraphObject>> bound_table(bound_rows);

constexpr std::string_view linear_layer =
    "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\n"
    "layer = graph.bind(facts.init_zero())";

}  // namespace

MemberTable bound_graph_members() {
  return member_table("bound graph", "A graph with tensors for its params. It has the members of its graph, and these.",
                      linear_layer, bound_table);
}

BoundInputs BoundGraphObject::all_inputs() const {
  BoundInputs all = inputs;
  all.insert(graph->captured.begin(), graph->captured.end());
  return all;
}

std::string BoundGraphObject::str(Interpreter& in) { return graph->str(in); }
std::string BoundGraphObject::repr(Interpreter& in) {
  return "BoundGraph[" + graph->graph->id() + " " + vars->repr(in) + "]";
}

std::optional<Value> BoundGraphObject::member(Interpreter& in, std::string_view name) {
  if (std::optional<Value> found = member_of_table(in, bound_table, *this, name)) return found;
  return graph->member(in, name);
}

std::vector<std::string> BoundGraphObject::member_names() const {
  std::vector<std::string> names = graph->member_names();
  append_names(names, bound_table);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Value BoundGraphObject::call(Interpreter& in, Arguments args) {
  return call_result(in, graph->ir, *emit_call(in, graph->ir, *graph->graph, all_inputs(), args));
}

}  // namespace pxl
