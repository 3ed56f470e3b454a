// Graphs, bound graphs and ops as values: their members and printing. Calls are in calls.cpp.
#include "interpreter/graphs/graphs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interpreter/graphs/gradients.hpp"
#include "interpreter/graphs/graph_builder.hpp"
#include "interpreter/graphs/modules.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/language/functions.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"
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
  for (const Op* op : ops) out.push_back(std::make_shared<OpObject>(ir, op));
  return make_list(std::move(out));
}

/// `bind(tree)`, `bind({input: tensor})`, `bind(weight = w)`.
Value bind_graph(Interpreter& in, const std::shared_ptr<GraphObject>& g, const BoundInputs& before, const TreePtr& vars,
                 const Arguments& args) {
  auto bound = std::make_shared<BoundGraphObject>();
  bound->graph = g;
  bound->inputs = before;
  bound->vars = vars ? vars->copy() : make_tree(TreeKind::tensors);
  if (args.positional.size() > 1)
    throw Error("bind takes one tree of tensors, got " + std::to_string(args.positional.size()) + " arguments")
        .as(codes::bind);
  TreePtr tree;
  if (!args.positional.empty() && !args.positional[0].is_none()) {
    const Value& given = args.positional[0];
    if (auto* d = given.as<DictObject>()) {
      tree = make_tree(TreeKind::tensors);
      for (const auto& [k, v] : d->items) {
        if (Tensor* input = as_tensor(k)) {
          if (std::find(g->graph->inputs().begin(), g->graph->inputs().end(), input) == g->graph->inputs().end())
            throw Error("bind: tensor `" + input->name + "` is no input of " + g->graph->id()).as(codes::bind);
          bound->inputs[input] = v;
        } else if (const std::string* name = k.as_string()) {
          tree->insert(*name, v);
        } else {
          type_error("bind: keys are names or inputs of the graph, got " + k.type_name());
        }
      }
      if (tree->items.empty()) return bound;
    } else if (auto t = given.ptr<TreeObject>()) {
      if (t->kind == TreeKind::factories)
        throw Error("bind takes tensors, got variable factories", {"`graph.bind(facts.init())` makes their variables"})
            .as(codes::bind);
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
  for (auto& [name, leaf] : tree->leaves()) {
    auto it = inputs.find(name);
    if (it == inputs.end()) {
      std::string hint = did_you_mean(name, names);
      throw Error(
          "bind: " + g->graph->id() + " has no input named `" + name + "`" + (hint.empty() ? "" : "; " + hint),
          {"its named inputs: " + (names.empty() ? std::string("none") : fmt::format("{}", fmt::join(names, ", ")))})
          .as(codes::bind);
    }
    if (!as_tensor(leaf)) type_error("bind: `" + name + "` must be a tensor, got " + leaf.type_name());
    if (as_tensor(leaf)->spec != it->second->spec)
      throw Error("bind: input `" + name + "` of " + g->graph->id() + " is " + text(it->second->spec) + ", but `" +
                  as_tensor(leaf)->name + "` is " + text(as_tensor(leaf)->spec))
          .as(codes::bind);
    bound->inputs[it->second] = leaf;
    bound->vars->insert(name, leaf, true);
  }
  std::vector<std::string> missing;
  for (const std::string& name : names)
    if (!bound->inputs.count(inputs[name]) && facts_of(in, g->ir, g->graph).with_factory.count(name))
      missing.push_back(name);
  if (!missing.empty())
    throw Error(
        "bind: nothing is given for " + fmt::format("`{}`", fmt::join(missing, "`, `")) + " of " + g->graph->id(),
        {"bind a tree with all its named inputs: `facts.init()` makes one"})
        .as(codes::bind);
  return bound;
}

}  // namespace

const GraphFacts& facts_of(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph* graph) {
  static const GraphFacts unknown;
  auto& graphs = graphs_of(in).world().of(ir).graphs;
  auto it = graphs.find(graph);
  return it == graphs.end() ? unknown : it->second;
}

Value graph_value(std::shared_ptr<Ir> ir, Graph* graph) { return std::make_shared<GraphObject>(std::move(ir), graph); }

TreePtr args_tree(const std::shared_ptr<Ir>& ir, const Graph& graph) {
  TreePtr tree = make_tree(TreeKind::tensors);
  for (Tensor* t : graph.inputs())
    if (!t->key.empty()) tree->insert(t->key, tensor_value(ir, t));
  return tree;
}

std::shared_ptr<GraphObject> to_graph(const Value& v, const char* where) {
  if (auto g = v.ptr<GraphObject>()) return g;
  if (auto* b = v.as<BoundGraphObject>()) return b->graph;
  if (auto* d = v.as<GradGraphObject>()) return d->graph;
  if (v.as<ModuleInstance>() || v.as<FunctionObject>())
    type_error(std::string(where) + " takes a graph, got " + with_article(v.type_name()) +
               ": `create_graph` makes one");
  type_error(std::string(where) + " takes a graph, got " + with_article(v.type_name()));
}

// ---- graphs

std::string GraphObject::str(Interpreter&) { return print_schedule(*graph); }
std::string GraphObject::repr(Interpreter&) { return "Graph[" + (graph->is_main() ? ir->name() : graph->id()) + "]"; }

std::optional<Value> GraphObject::member(Interpreter& in, std::string_view name) {
  auto self = std::static_pointer_cast<GraphObject>(shared_from_this());
  if (name == "name" || name == "id") return Value(graph->id());
  if (name == "inputs") return tensor_tuple(ir, graph->inputs());
  if (name == "outputs") return tensor_tuple(ir, graph->outputs());
  if (name == "args") return Value(args_tree(ir, *graph));
  if (name == "inputs_by_name") {
    auto d = std::make_shared<DictObject>();
    for (Tensor* t : graph->inputs()) d->put(Value(t->key.empty() ? t->name : t->key), tensor_value(ir, t));
    return Value(d);
  }
  if (name == "graph") return Value(self);
  if (name == "ir") return ir_value(in, ir);
  if (name == "main_graph") return graph_value(ir, &ir->main());
  if (name == "tensors") return tensors_of_kind(ir, *graph, std::nullopt);
  if (name == "variables") return tensors_of_kind(ir, *graph, TensorKind::variable);
  if (name == "constants") return tensors_of_kind(ir, *graph, TensorKind::constant);
  if (name == "ops") {
    std::vector<Op*> ops;
    for (const auto& op : graph->ops()) ops.push_back(op.get());
    return op_list(ir, ops);
  }
  if (name == "schedule") return op_list(ir, schedule_order(*graph));
  if (name == "called_graphs") {
    std::vector<Value> out;
    for (Graph* g : graph->called_graphs()) out.push_back(graph_value(ir, g));
    return make_list(std::move(out));
  }
  if (name == "print_schedule")
    return make_method(no_effects, "print_schedule", [self](Interpreter&, Arguments args) -> Value {
      ArgReader a("print_schedule", args, {});
      return Value(print_schedule(*self->graph));
    });
  if (name == "get_tensor")
    return make_method(no_effects, "get_tensor", [self](Interpreter&, Arguments args) -> Value {
      ArgReader a("get_tensor", args, {"id"});
      std::string id = a.string("id");
      std::vector<std::string> names;
      for (const auto& t : self->graph->tensors()) {
        if (t->id == id || t->name == id) return tensor_value(self->ir, t.get());
        names.push_back(t->name);
      }
      std::string hint = did_you_mean(id, names);
      throw Error("get_tensor: no tensor `" + id + "` in the graph" + (hint.empty() ? "" : "; " + hint)).as(codes::key);
    });
  if (name == "bind")
    return make_method(no_effects, "bind",
                       [self](Interpreter& i, Arguments args) { return bind_graph(i, self, {}, nullptr, args); });
  if (name == "call")
    return make_method(no_effects, "call",
                       [self](Interpreter& i, Arguments args) { return self->call(i, std::move(args)); });
  if (name == "flops") return Value(flops_of(*graph));
  if (name == "autodiff")
    return make_method(no_effects, "autodiff", [self](Interpreter& i, Arguments args) {
      args.positional.insert(args.positional.begin(), Value(self));
      if (!args.spans.empty()) args.spans.insert(args.spans.begin(), args.span);
      return make_autodiff(i, Value(self), args);
    });
  if (name == "call_with_info")
    return make_method(no_effects, "call_with_info", [self](Interpreter& i, Arguments args) -> Value {
      return std::make_shared<CallInfoObject>(self->ir, emit_call(i, self->ir, *self->graph, {}, args), nullptr);
    });
  return std::nullopt;
}

std::vector<std::string> GraphObject::member_names() const {
  return {"name",           "id",         "inputs", "outputs",    "args",
          "inputs_by_name", "graph",      "ir",     "main_graph", "tensors",
          "variables",      "constants",  "ops",    "schedule",   "called_graphs",
          "print_schedule", "get_tensor", "bind",   "call",       "call_with_info",
          "flops",          "autodiff"};
}

Value GraphObject::call(Interpreter& in, Arguments args) {
  return call_result(in, ir, *emit_call(in, ir, *graph, {}, args));
}

Value GraphObject::enter(Interpreter& in) {
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

// ---- bound graphs

std::string BoundGraphObject::str(Interpreter& in) { return graph->str(in); }
std::string BoundGraphObject::repr(Interpreter& in) {
  return "BoundGraph[" + graph->graph->id() + " " + vars->repr(in) + "]";
}

std::optional<Value> BoundGraphObject::member(Interpreter& in, std::string_view name) {
  auto self = std::static_pointer_cast<BoundGraphObject>(shared_from_this());
  if (name == "vars") return Value(vars);
  if (name == "graph") return Value(graph);
  if (name == "subgraph_io_map") {
    auto d = std::make_shared<DictObject>();
    for (Tensor* t : graph->graph->inputs())
      if (auto it = inputs.find(t); it != inputs.end()) d->put(tensor_value(graph->ir, t), it->second);
    return Value(d);
  }
  if (name == "bind")
    return make_method(no_effects, "bind", [self](Interpreter& i, Arguments args) {
      return bind_graph(i, self->graph, self->inputs, self->vars, args);
    });
  if (name == "call")
    return make_method(no_effects, "call",
                       [self](Interpreter& i, Arguments args) { return self->call(i, std::move(args)); });
  if (name == "call_with_info")
    return make_method(no_effects, "call_with_info", [self](Interpreter& i, Arguments args) -> Value {
      return std::make_shared<CallInfoObject>(
          self->graph->ir, emit_call(i, self->graph->ir, *self->graph->graph, self->inputs, args), self->vars);
    });
  return graph->member(in, name);
}

std::vector<std::string> BoundGraphObject::member_names() const {
  std::vector<std::string> names = graph->member_names();
  names.insert(names.end(), {"vars", "subgraph_io_map"});
  return names;
}

Value BoundGraphObject::call(Interpreter& in, Arguments args) {
  return call_result(in, graph->ir, *emit_call(in, graph->ir, *graph->graph, inputs, args));
}

// ---- ops

std::string OpObject::repr(Interpreter&) {
  std::string out = std::string(op->row->schedule) + "." + std::to_string(op->id);
  if (!op->called.empty()) out += "(" + op->called[0]->id() + ")";
  return out;
}

std::optional<Value> OpObject::member(Interpreter&, std::string_view name) {
  if (name == "id") return Value(static_cast<int64_t>(op->id));
  if (name == "type") return Value(std::string(op->row->schedule));
  if (name == "name") return Value(std::string(op->row->name));
  if (name == "inputs" || name == "outputs") {
    std::vector<Tensor*> tensors;
    for (Tensor* t : name == "inputs" ? op->inputs : op->outputs)
      if (t) tensors.push_back(t);
    return tensor_tuple(ir, tensors);
  }
  if (name == "graph") return graph_value(ir, op->graph);
  if (name == "ipu") return op->ipu ? Value(static_cast<int64_t>(*op->ipu)) : Value();
  if (name == "io_tiles") return Value(op->io_tiles);
  if (name == "flops") return Value(flops_of(*op));
  if (name == "called_graphs") {
    std::vector<Value> out;
    for (Graph* g : op->called) out.push_back(graph_value(ir, g));
    return make_list(std::move(out));
  }
  return std::nullopt;
}

std::vector<std::string> OpObject::member_names() const {
  return {"id", "type", "name", "inputs", "outputs", "graph", "ipu", "io_tiles", "flops", "called_graphs"};
}

}  // namespace pxl
