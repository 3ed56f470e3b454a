// What is known of a call site: which tensor of the caller is which of the called graphs.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {
namespace {

std::string called_text(const Op& op) {
  std::string text = op.called[0]->id();
  if (op.called.size() > 1) text += ", " + op.called[1]->id();
  return text;
}

Tensor* tensor_argument(const ArgReader& a, const std::string& name, const char* where) {
  const Value v = a.value(name);
  Tensor* t = as_tensor(v);
  if (!t) type_error(std::string(where) + " takes a tensor, got " + with_article(v.type_name()));
  return t;
}

/// Which of the called graphs is meant: a conditional has two.
size_t which_of(const Op& op, const ArgReader& a) {
  return op.row->role == Role::branch && !a.boolean_or("then_branch", true) ? 1 : 0;
}

std::optional<size_t> place_in(const std::vector<Tensor*>& list, const Tensor* t) {
  const auto at = std::find(list.begin(), list.end(), t);
  if (at == list.end()) return std::nullopt;
  return static_cast<size_t>(at - list.begin());
}

Tensor* graph_to_parent(const Op& op, const Tensor* t) {
  for (size_t which = 0; which < op.called.size(); ++which)
    if (const auto i = place_in(op.called[which]->inputs(), t)) return op.inputs[callee_operand_begin(op, which) + *i];
  for (const Graph* g : op.called)
    if (const auto i = place_in(g->outputs(), t); i && *i < op.outputs.size()) return op.outputs[*i];
  throw Error("tensor `" + t->name + "` is no input or output of the called graph (" + called_text(op) + ")")
      .as(codes::graph_inputs);
}

/// The first input or output of the called graph that a tensor of the caller is connected to.
Tensor* parent_to_graph(const Op& op, const Tensor* t, size_t which) {
  const Graph& g = *op.called[which];
  for (size_t i = 0; i < g.inputs().size(); ++i)
    if (op.inputs[callee_operand_begin(op, which) + i] == t) return g.inputs()[i];
  if (const auto i = place_in(op.outputs, t)) return g.outputs()[*i];
  throw Error("tensor `" + t->name + "` is no input or output of this call of " + g.id()).as(codes::graph_inputs);
}

int64_t checked_index(int64_t i, size_t first, size_t count, std::string_view title) {
  if (i < static_cast<int64_t>(first) || i >= static_cast<int64_t>(first + count))
    throw Error(fmt::format("{} {} is out of range: the indices are {} to {}", title, i, first,
                            static_cast<int64_t>(first + count) - 1))
        .as(codes::graph_inputs);
  return i;
}

/// `graph_to_parent_input_index` and its kin. Only the inputs of a conditional are shifted.
int64_t mapped_index(const Op& op, size_t which, int64_t i, bool input, bool to_parent, std::string_view title) {
  if (!input) return checked_index(i, 0, op.outputs.size(), title);
  const size_t first = callee_operand_begin(op, which), count = op.called[which]->inputs().size();
  if (to_parent) return checked_index(i, 0, count, title) + static_cast<int64_t>(first);
  return checked_index(i, first, count, title) - static_cast<int64_t>(first);
}

void mark_modified(Op& call, const Tensor* t) {
  if (call.row->role == Role::branch)
    throw Error("set_parent_input_modified: a conditional cannot change its inputs", {"return the new value instead"})
        .as(codes::graph_inputs);
  if (!place_in(call.inputs, t))
    throw Error("tensor `" + t->name + "` is no input of this call of " + call.called[0]->id()).as(codes::graph_inputs);
  if (t->kind == TensorKind::constant)
    throw Error("set_parent_input_modified: the constant `" + t->name + "` cannot be changed in place",
                {"declare it as a `variable`"})
        .as(codes::graph_inputs);
  call.input_modified.resize(call.inputs.size(), false);
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] == t) call.input_modified[i] = true;
}

}  // namespace

std::string CallInfoObject::repr(Interpreter&) {
  return fmt::format("CallInfo[{}.{}({})]", op->row->schedule, op->id, called_text(*op));
}

std::optional<Value> CallInfoObject::member(Interpreter&, std::string_view name) {
  auto self = std::static_pointer_cast<CallInfoObject>(shared_from_this());
  const bool branch = op->row->role == Role::branch;
  if (name == "called_graph") {
    if (branch)
      throw Error("a conditional calls one of two graphs: use `.then_graph` and `.else_graph`").as(codes::graph_inputs);
    return graph_value(ir, op->called[0]);
  }
  if (branch && name == "then_graph") return graph_value(ir, op->called[0]);
  if (branch && name == "else_graph") return graph_value(ir, op->called[1]);
  if (branch && name == "condition") return tensor_value(ir, op->inputs[0]);
  if (name == "inputs" || name == "outputs") {
    std::vector<Value> out;
    for (Tensor* t : name == "inputs" ? op->inputs : op->outputs)
      if (t) out.push_back(tensor_value(ir, t));
    return make_tuple(std::move(out));
  }
  if (name == "output") {
    size_t n = op->called[0]->declared_outputs();
    if (n != 1)
      throw Error(fmt::format("the call of {} has {} outputs: use `.outputs`", called_text(*op), n))
          .as(codes::graph_inputs);
    return tensor_value(ir, op->outputs[0]);
  }
  if (name == "vars") {
    if (!vars) return std::nullopt;
    return Value(vars);
  }
  if (name == "op") return Value(std::make_shared<OpObject>(ir, op));
  if (name == "backward")
    return make_method(no_effects, "backward",
                       [self](Interpreter& i, Arguments args) { return backward(i, self, args); });
  if (name == "parent_input" || name == "parent_output")
    return make_method(
        no_effects, std::string(name), [self, title = std::string(name)](Interpreter&, Arguments args) -> Value {
          ArgReader a(title, args, {"index"});
          const auto& list = title == "parent_input" ? self->op->inputs : self->op->outputs;
          const int64_t i = a.integer("index"), n = static_cast<int64_t>(list.size());
          if (i < 0 || i >= n)
            throw Error(fmt::format("{} {} is out of range: the call has {}", title, i, n)).as(codes::graph_inputs);
          return tensor_value(self->ir, list[static_cast<size_t>(i)]);
        });
  if (name == "graph_to_parent")
    return make_method(no_effects, "graph_to_parent", [self](Interpreter&, Arguments args) -> Value {
      ArgReader a("graph_to_parent", args, {"tensor"});
      return tensor_value(self->ir, graph_to_parent(*self->op, tensor_argument(a, "tensor", "graph_to_parent")));
    });
  if (name == "parent_to_graph")
    return make_method(no_effects, "parent_to_graph", [self](Interpreter&, Arguments args) -> Value {
      ArgReader a("parent_to_graph", args, {"tensor", "then_branch"});
      Tensor* t = tensor_argument(a, "tensor", "parent_to_graph");
      return tensor_value(self->ir, parent_to_graph(*self->op, t, which_of(*self->op, a)));
    });
  if (name == "parent_to_graph_input_index" || name == "graph_to_parent_input_index" ||
      name == "parent_to_graph_output_index" || name == "graph_to_parent_output_index")
    return make_method(
        no_effects, std::string(name), [self, title = std::string(name)](Interpreter&, Arguments args) -> Value {
          ArgReader a(title, args, {"index", "then_branch"});
          const bool input = title.find("input") != std::string::npos;
          return mapped_index(*self->op, which_of(*self->op, a), a.integer("index"), input, title[0] == 'g', title);
        });
  if (name == "set_parent_input_modified")
    return make_method(no_effects, "set_parent_input_modified", [self](Interpreter&, Arguments args) -> Value {
      ArgReader a("set_parent_input_modified", args, {"tensor"});
      Tensor* t = tensor_argument(a, "tensor", "set_parent_input_modified");
      if (self->ir->frozen)
        throw Error("the program belongs to a session already: its calls can't change").as(codes::complete);
      mark_modified(*self->op, t);
      return {};
    });
  return std::nullopt;
}

std::vector<std::string> CallInfoObject::member_names() const {
  std::vector<std::string> names{"called_graph",
                                 "inputs",
                                 "outputs",
                                 "output",
                                 "vars",
                                 "op",
                                 "backward",
                                 "parent_input",
                                 "parent_output",
                                 "graph_to_parent",
                                 "parent_to_graph",
                                 "parent_to_graph_input_index",
                                 "graph_to_parent_input_index",
                                 "parent_to_graph_output_index",
                                 "graph_to_parent_output_index",
                                 "set_parent_input_modified"};
  if (op->row->role == Role::branch) names.insert(names.end(), {"then_graph", "else_graph", "condition"});
  return names;
}

}  // namespace pxl
