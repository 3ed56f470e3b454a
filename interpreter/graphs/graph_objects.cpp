// Graphs, bound graphs and ops as values: their members and printing. Calls are in calls.cpp.
#include "interpreter/graphs/graph_objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/transform/flops.hpp"

namespace pxl {
namespace {

Value tensor_tuple(const std::shared_ptr<Ir>& ir, const std::vector<Tensor*>& tensors) {
  std::vector<Value> out;
  for (Tensor* t : tensors) out.push_back(tensor_value(ir, t));
  return make_tuple(std::move(out));
}

Value tensors_of_kind(const std::shared_ptr<Ir>& ir, const Graph& graph, std::optional<TensorKind> kind) {
  std::vector<Value> out;
  for (const auto& t : graph.tensors())
    if (!kind || t->kind == *kind) out.push_back(tensor_value(ir, t.get()));
  return make_list(std::move(out));
}

Value op_list(const std::shared_ptr<Ir>& ir, const std::vector<Op*>& ops) {
  std::vector<Value> out;
  for (const Op* op : ops) out.push_back(make_ref<OpObject>(ir, op));
  return make_list(std::move(out));
}

}  // namespace

const GraphFacts& facts_of(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph* graph) {
  static const auto& unknown = never_destroyed(GraphFacts());
  auto& graphs = graphs_of(in).world().of(ir).graphs;
  auto it = graphs.find(graph);
  return it == graphs.end() ? unknown : it->second;
}

Value graph_value(std::shared_ptr<Ir> ir, Graph* graph, BoundInputs captured) {
  auto g = make_ref<GraphObject>(std::move(ir), graph);
  g->captured = std::move(captured);
  return g;
}
Value graph_value(std::shared_ptr<Ir> ir, Graph* graph) { return make_ref<GraphObject>(std::move(ir), graph); }

TreePtr args_tree(const std::shared_ptr<Ir>& ir, const Graph& graph) {
  TreePtr tree = make_tree(TreeKind::tensors);
  for (Tensor* t : graph.inputs())
    if (!t->key.empty() && !is_state_of(graph, t)) tree->insert(t->key, tensor_value(ir, t));
  return tree;
}

namespace {

Ref<GraphObject> graph_in(const Value& v) {
  if (auto g = v.ptr<GraphObject>()) return g;
  if (auto* b = v.as<BoundGraphObject>()) return b->graph;
  if (auto* d = v.as<GradGraphObject>()) return d->graph;
  return nullptr;
}

}  // namespace

Ref<GraphObject> to_graph(const Value& v, const char* where) {
  if (Ref<GraphObject> g = graph_in(v)) {
    check_in_effect(where, *g->graph);
    return g;
  }
  if (v.as<ModuleInstance>() || v.as<FunctionObject>())
    type_error(std::string(where) + " takes a graph, got " + with_article(v.type_name()) +
               ": `create_graph` makes one");
  Error e(std::string(where) + " takes a graph, got " + with_article(v.type_name()));
  if (as_tensor(v)) e.first().notes.emplace_back("`ir.create_graph(f, x)` makes one of a function of tensors");
  throw std::move(e).as(codes::type);
}

// ---- graphs

std::string GraphObject::str(Interpreter& in) {
  if (graph->is_taken_back()) return repr(in);
  const std::string& out_of_reach = facts_of(in, ir, graph).out_of_reach;
  if (out_of_reach.empty()) return print_schedule(*graph);
  return print_schedule(*graph) +
         fmt::format("\n  # each call builds this graph again: no name of its code leads to `{}`", out_of_reach);
}
std::string GraphObject::repr(Interpreter&) {
  return "Graph[" + (graph->is_main() ? ir->name() : graph->id()) + (graph->is_taken_back() ? ", taken back]" : "]");
}

namespace {

using In = Interpreter&;
using GraphRef = GraphObject&;
using A = const Arguments&;
using Got = std::optional<Value>;

Ref<GraphObject> shared(GraphRef g) { return static_ref_cast<GraphObject>(g.shared_from_this()); }

Value get_tensor(In, GraphRef g, A args) {
  ArgReader a(args);
  const std::string id = a.string("id");
  std::vector<std::string> names;
  for (const auto& t : g.graph->tensors()) {
    if (t->id == id || t->name == id) return tensor_value(g.ir, t.get());
    names.push_back(t->name);
  }
  const std::string hint = did_you_mean(id, names);
  throw Error("get_tensor: no tensor `" + id + "` in the graph" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
}

Value autodiff_of(In in, GraphRef g, A args) {
  Arguments more = args;
  const Value self(shared(g));
  more.positional.insert(more.positional.begin(), self);
  if (!more.spans.empty()) more.spans.insert(more.spans.begin(), more.span);
  return make_autodiff(in, self, more);
}

constexpr Member<GraphObject>::Get graph_id = [](In, GraphRef g) -> Got { return Value(g.graph->id()); };
constexpr Member<GraphObject> graph_rows[] = {
    {"name", "The name, with a number that tells graphs of one module apart.", "graph.name", graph_id},
    {"id", "The name, which no other graph of the program has.", "graph.id", graph_id},
    {"inputs", "The inputs, as a tuple of tensors: those of the call first, then the params.", "graph.inputs",
     [](In, GraphRef g) -> Got { return tensor_tuple(g.ir, g.graph->inputs()); }},
    {"outputs", "The outputs, as a tuple of tensors.", "graph.outputs",
     [](In, GraphRef g) -> Got { return tensor_tuple(g.ir, g.graph->outputs()); }},
    {"captured", "The inputs for tensors of the graphs around it that its function uses, as a tree by their names.",
     "graph.captured",
     [](In, GraphRef g) -> Got {
       TreePtr tree = make_tree(TreeKind::tensors);
       const auto& inputs = g.graph->inputs();
       for (size_t i = inputs.size() - g.graph->captured_inputs(); i < inputs.size(); ++i)
         tree->insert(inputs[i]->name, tensor_value(g.ir, inputs[i]));
       return Value(tree);
     }},
    {"args", "The named inputs, as a tree of tensors.", "graph.args",
     [](In, GraphRef g) -> Got { return Value(args_tree(g.ir, *g.graph)); }},
    {"states", "The inputs that are states, as a tree of tensors.", "graph.states",
     [](In, GraphRef g) -> Got { return Value(states_tree(g.ir, *g.graph)); }},
    {"inputs_by_name", "The inputs, as a dict from names to tensors.", "graph.inputs_by_name.keys()",
     [](In, GraphRef g) -> Got {
       auto d = make_ref<DictObject>();
       for (Tensor* t : g.graph->inputs()) d->put(Value(t->key.empty() ? t->name : t->key), tensor_value(g.ir, t));
       return Value(d);
     }},
    {"graph", "The graph itself, so that code may ask graphs and bound graphs alike.", "graph.graph is graph",
     [](In, GraphRef g) -> Got { return Value(shared(g)); }},
    {"ir", "The program that the graph belongs to.", "graph.ir",
     [](In in, GraphRef g) -> Got { return ir_value(in, g.ir); }},
    {"main_graph", "The main graph of its program.", "graph.main_graph",
     [](In, GraphRef g) -> Got { return graph_value(g.ir, &g.ir->main()); }},
    {"tensors", "A list of all tensors.", "len(graph.tensors)",
     [](In, GraphRef g) -> Got { return tensors_of_kind(g.ir, *g.graph, std::nullopt); }},
    {"variables", "A list of the variables; main graphs alone have some.", "graph.main_graph.variables",
     [](In, GraphRef g) -> Got { return tensors_of_kind(g.ir, *g.graph, TensorKind::variable); }},
    {"constants", "A list of the constants.", "graph.constants",
     [](In, GraphRef g) -> Got { return tensors_of_kind(g.ir, *g.graph, TensorKind::constant); }},
    {"ops", "A list of the ops, in the order in which they were added.", "graph.ops",
     [](In, GraphRef g) -> Got {
       std::vector<Op*> ops;
       for (const auto& op : g.graph->ops()) ops.push_back(op.get());
       return op_list(g.ir, ops);
     }},
    {"schedule", "A list of the ops, in the order in which they run.", "graph.schedule",
     [](In, GraphRef g) -> Got { return op_list(g.ir, schedule_order(*g.graph)); }},
    {"called_graphs", "A list of the graphs that its ops call, each once.", "graph.called_graphs",
     [](In, GraphRef g) -> Got {
       std::vector<Value> out;
       for (Graph* called : g.graph->called_graphs()) out.push_back(graph_value(g.ir, called));
       return make_list(std::move(out));
     }},
    {"flops", "The floating-point operations of one run of the graph.", "graph.flops",
     [](In, GraphRef g) -> Got { return Value(flops_of(*g.graph)); }},
    {"print_schedule", "()", "The schedule as text: what `print(graph)` prints.", "len(graph.print_schedule())",
     [](In, GraphRef g, A args) -> Value {
       ArgReader a(args);
       return Value(print_schedule(*g.graph));
     }},
    {"get_tensor", "(id)", "The tensor of a name or id.", "graph.get_tensor('weight')", get_tensor},
    {"bind", "(tree, name = tensor, ...)",
     "A graph that is called with these tensors for its named inputs: a tree, a dict from inputs or names, or names.",
     "graph.bind(facts.init_zero()).vars",
     [](In in, GraphRef g, A args) { return bind_graph(in, shared(g), nullptr, args); }},
    {"call", "(*inputs, inputs = none)", "Calls the graph: `graph(x)`, by its long name.",
     "graph.call(ones([2, 4]), ones([4, 3]), ones([3]))", [](In in, GraphRef g, A args) { return g.call(in, args); }},
    {"call_with_info", "(*inputs, inputs = none)",
     "Calls the graph and returns the call info: outputs, and `backward` for gradients.",
     "graph.call_with_info(ones([2, 4]), ones([4, 3]), ones([3])).output",
     [](In in, GraphRef g, A args) -> Value {
       return make_ref<CallInfoObject>(g.ir, emit_call(in, g.ir, *g.graph, g.captured, args), nullptr);
     }},
    {"autodiff", "(grads_provided = none, grads_required = none, called_graphs_grad_info = none)",
     "The gradient graph: from gradients of outputs to gradients of inputs, by default of all that have one.",
     "graph.autodiff().outputs", autodiff_of},
};
constexpr std::span<const Member<GraphObject>> graph_table(graph_rows);

using OpRef = OpObject&;
Value tensors_of(OpRef o, const std::vector<Tensor*>& list) {
  std::vector<Tensor*> tensors;
  for (Tensor* t : list)
    if (t) tensors.push_back(t);
  return tensor_tuple(o.ir, tensors);
}
constexpr Member<OpObject> op_rows[] = {
    {"id", "The number, which no other op of the program has.", "op.id",
     [](In, OpRef o) -> Got { return Value(static_cast<int64_t>(o.op->id)); }},
    {"type", "The name in schedules.", "op.type",
     [](In, OpRef o) -> Got { return Value(std::string(o.op->row->schedule)); }},
    {"name", "The name by which programs call it.", "op.name",
     [](In, OpRef o) -> Got { return Value(std::string(o.op->row->name)); }},
    {"inputs", "The operands, as a tuple of tensors.", "op.inputs",
     [](In, OpRef o) -> Got { return tensors_of(o, o.op->inputs); }},
    {"outputs", "The results, as a tuple of tensors.", "op.outputs",
     [](In, OpRef o) -> Got { return tensors_of(o, o.op->outputs); }},
    {"graph", "The graph that the op belongs to.", "op.graph",
     [](In, OpRef o) -> Got { return graph_value(o.ir, o.op->graph); }},
    {"ipu", "The IPU that the op is placed on, or none.", "op.ipu",
     [](In, OpRef o) -> Got { return o.op->ipu ? Value(static_cast<int64_t>(*o.op->ipu)) : Value(); }},
    {"io_tiles", "Whether the op runs on the tiles that are set apart for transfers.", "op.io_tiles",
     [](In, OpRef o) -> Got { return Value(o.op->io_tiles); }},
    {"flops", "The floating-point operations of one run.", "op.flops",
     [](In, OpRef o) -> Got { return Value(flops_of(*o.op)); }},
    {"called_graphs", "A list of the graphs that the op calls.", "op.called_graphs",
     [](In, OpRef o) -> Got {
       std::vector<Value> out;
       for (Graph* g : o.op->called) out.push_back(graph_value(o.ir, g));
       return make_list(std::move(out));
     }},
};
constexpr std::span<const Member<OpObject>> op_table_of_members(op_rows);

constexpr std::string_view linear_graph = "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])";
constexpr std::string_view linear_op =
    "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\nop = graph.ops[0]";

}  // namespace

MemberTable graph_members() {
  return member_table("graph",
                      "Ops from inputs to outputs. A graph is a value: it can be called, bound, differentiated.",
                      linear_graph, graph_table);
}
MemberTable op_members() {
  return member_table("op", "An op of a graph, for looking at: an element of `graph.ops`.", linear_op,
                      op_table_of_members);
}

std::optional<Value> GraphObject::member(Interpreter& in, std::string_view name) {
  check_in_effect(name, *graph);
  return member_of_table(in, graph_table, *this, name);
}

std::vector<std::string> GraphObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, graph_table);
  return names;
}

Value GraphObject::call(Interpreter& in, Arguments args) {
  return call_result(in, ir, *emit_call(in, ir, *graph, captured, args));
}

Value GraphObject::enter(Interpreter& in) {
  check_in_effect("with", *graph);
  if (graphs_of(in).has_target() && graphs_of(in).targets().back().ir != ir && graphs_of(in).in_program())
    throw Error(repr(in) + " belongs to program " + ir->name() + ", but program " +
                graphs_of(in).targets().back().ir->name() + " is being built")
        .as(codes::other_graph);
  active_.push_back(std::make_shared<TargetScope>(in, ir, graph));
  return Value(shared_from_this());
}
void GraphObject::leave(Interpreter&, bool) { active_.pop_back(); }

bool GraphObject::contains(Interpreter&, const Value& item) { return graph->contains(as_tensor(item)); }
bool GraphObject::equals(Interpreter&, const Value& other) {
  auto* g = other.as<GraphObject>();
  return g && g->graph == graph;
}
std::optional<std::string> GraphObject::hash_key() const {
  return "g" + std::to_string(reinterpret_cast<uintptr_t>(graph));
}

// ---- ops

std::string OpObject::repr(Interpreter&) {
  std::string out = std::string(op->row->schedule) + "." + std::to_string(op->id);
  if (!op->called.empty()) out += "(" + op->called[0]->id() + ")";
  return out;
}

std::optional<Value> OpObject::member(Interpreter& in, std::string_view name) {
  return member_of_table(in, op_table_of_members, *this, name);
}

std::vector<std::string> OpObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, op_table_of_members);
  return names;
}

}  // namespace pxl
