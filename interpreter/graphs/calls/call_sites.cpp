// Describes a call site: which tensor of the caller corresponds to which tensor of the called graph.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/members.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"

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

/// Selects one of the called graphs, since a conditional has two.
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
  throw Error("tensor `" + shown_name(*t) + "` is no input or output of the called graph (" + called_text(op) + ")")
      .as(codes::graph_inputs);
}

/// The first input or output of the called graph to which a tensor of the caller is connected.
Tensor* parent_to_graph(const Op& op, const Tensor* t, size_t which) {
  const Graph& g = *op.called[which];
  for (size_t i = 0; i < g.inputs().size(); ++i)
    if (op.inputs[callee_operand_begin(op, which) + i] == t) return g.inputs()[i];
  if (const auto i = place_in(op.outputs, t)) return g.outputs()[*i];
  throw Error("tensor `" + shown_name(*t) + "` is no input or output of this call of " + shown_name(g))
      .as(codes::graph_inputs);
}

int64_t checked_index(int64_t i, size_t first, size_t count, std::string_view title) {
  if (i < static_cast<int64_t>(first) || i >= static_cast<int64_t>(first + count))
    throw Error(fmt::format("{} {} is out of range: the indices are {} to {}", title, i, first,
                            static_cast<int64_t>(first + count) - 1))
        .as(codes::graph_inputs);
  return i;
}

/// `graph_to_parent_input_index` and similar methods. Only the inputs of a conditional are shifted.
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
    throw Error("tensor `" + shown_name(*t) + "` is no input of this call of " + shown_name(*call.called[0]))
        .as(codes::graph_inputs);
  if (t->kind == TensorKind::constant)
    throw Error("set_parent_input_modified: the constant `" + shown_name(*t) + "` cannot be changed in place",
                {"declare it as a `variable`"})
        .as(codes::graph_inputs);
  call.input_modified.resize(call.inputs.size(), false);
  for (size_t i = 0; i < call.inputs.size(); ++i)
    if (call.inputs[i] == t) call.input_modified[i] = true;
}

using In = Interpreter&;
using CallRef = CallInfoObject&;
using A = const Arguments&;
using Got = std::optional<Value>;

bool is_branch(CallRef c) { return c.op->row->role == Role::branch; }

Value tensors_of(CallRef c, const std::vector<Tensor*>& list) {
  std::vector<Value> out;
  for (Tensor* t : list)
    if (t) out.push_back(tensor_value(c.ir, t));
  return make_tuple(std::move(out));
}

Value tensor_at(CallRef c, const char* title, A args, const std::vector<Tensor*>& list) {
  const int64_t i = ArgReader(title, args, {"index"}).integer("index"), n = static_cast<int64_t>(list.size());
  if (i < 0 || i >= n)
    throw Error(fmt::format("{} {} is out of range: the call has {}", title, i, n)).as(codes::graph_inputs);
  return tensor_value(c.ir, list[static_cast<size_t>(i)]);
}

Value index_of(CallRef c, std::string_view title, A args) {
  ArgReader a(title, args, {"index", "then_branch"});
  const bool input = title.find("input") != title.npos;
  return mapped_index(*c.op, which_of(*c.op, a), a.integer("index"), input, title[0] == 'g', title);
}

constexpr Member<CallInfoObject> call_rows[] = {
    {"output", "The only output of the call; an error if there are several.", "info.output",
     [](In, CallRef c) -> Got {
       const size_t n = result_outputs(*c.op->called[0]);
       if (n != 1)
         throw Error(fmt::format("the call of {} has {} outputs: use `.outputs`", called_text(*c.op), n))
             .as(codes::graph_inputs);
       return tensor_value(c.ir, c.op->outputs[0]);
     }},
    {"outputs", "The outputs of the call, as a tuple of tensors.", "info.outputs",
     [](In, CallRef c) -> Got {
       std::vector<Tensor*> results = c.op->outputs;
       const Graph& callee = *c.op->called[0];
       results.erase(results.begin() + static_cast<std::ptrdiff_t>(result_outputs(callee)),
                     results.begin() + static_cast<std::ptrdiff_t>(callee.declared_outputs()));
       return tensors_of(c, results);
     }},
    {"next", "The next values of the called graph's states, as a tree.", "info.next",
     [](In, CallRef c) -> Got { return Value(next_tree(c.ir, *c.op)); }},
    {"inputs", "The operands of the call, as a tuple of tensors.", "len(info.inputs)",
     [](In, CallRef c) -> Got { return tensors_of(c, c.op->inputs); }},
    {"backward", "(dy = none, wanted = none)",
     "Calls the gradient graph: gradients of the call's inputs, given those of its outputs. dy: 1 by default, for "
     "a loss; a number, a tensor, or one for each output. wanted: the tensors or the tree whose gradients are "
     "returned, by default all that have one.",
     "info.backward(1.0, layer.vars)",
     [](In in, CallRef c, A args) {
       return backward(in, static_ref_cast<CallInfoObject>(c.shared_from_this()), args);
     }},
    {"vars", "The tensors bound to the graph that was called, as a tree; for calls of bound graphs only.", "info.vars",
     [](In, CallRef c) -> Got { return c.vars ? Got(Value(c.vars)) : std::nullopt; }},
    {"called_graph", "The graph that is called; loops have one, conditionals two.", "info.called_graph",
     [](In, CallRef c) -> Got {
       if (is_branch(c))
         throw Error("a conditional calls one of two graphs: use `.then_graph` and `.else_graph`")
             .as(codes::graph_inputs);
       return graph_value(c.ir, c.op->called[0]);
     }},
    {"op", "The op that calls.", "info.op", [](In, CallRef c) -> Got { return Value(make_ref<OpObject>(c.ir, c.op)); }},
    {"parent_input", "(index)", "An operand of the call, by its position.", "info.parent_input(0)",
     [](In, CallRef c, A args) { return tensor_at(c, "parent_input", args, c.op->inputs); }},
    {"parent_output", "(index)", "An output of the call, by its position.", "info.parent_output(0)",
     [](In, CallRef c, A args) { return tensor_at(c, "parent_output", args, c.op->outputs); }},
    {"graph_to_parent", "(tensor)", "The caller's tensor for an input or output of the graph that is called.",
     "info.graph_to_parent(info.called_graph.outputs[0])",
     [](In, CallRef c, A args) -> Value {
       ArgReader a(args);
       return tensor_value(c.ir, graph_to_parent(*c.op, tensor_argument(a, "tensor", "graph_to_parent")));
     }},
    {"parent_to_graph", "(tensor, then_branch = true)",
     "The tensor of the graph that is called for one of the caller's. then_branch: which graph of a conditional.",
     "info.parent_to_graph(info.output)",
     [](In, CallRef c, A args) -> Value {
       ArgReader a(args);
       Tensor* t = tensor_argument(a, "tensor", "parent_to_graph");
       return tensor_value(c.ir, parent_to_graph(*c.op, t, which_of(*c.op, a)));
     }},
    {"parent_to_graph_input_index", "(index, then_branch = true)",
     "The position among the graph's inputs of the operand at a position of the call.",
     "info.parent_to_graph_input_index(1)",
     [](In, CallRef c, A args) { return index_of(c, "parent_to_graph_input_index", args); }},
    {"graph_to_parent_input_index", "(index, then_branch = true)",
     "The position among the call's operands of the graph's input at a position.",
     "info.graph_to_parent_input_index(1)",
     [](In, CallRef c, A args) { return index_of(c, "graph_to_parent_input_index", args); }},
    {"parent_to_graph_output_index", "(index, then_branch = true)",
     "The position among the graph's outputs of the call's output at a position.",
     "info.parent_to_graph_output_index(0)",
     [](In, CallRef c, A args) { return index_of(c, "parent_to_graph_output_index", args); }},
    {"graph_to_parent_output_index", "(index, then_branch = true)",
     "The position among the call's outputs of the graph's output at a position.",
     "info.graph_to_parent_output_index(0)",
     [](In, CallRef c, A args) { return index_of(c, "graph_to_parent_output_index", args); }},
    {"set_parent_input_modified", "(tensor)",
     "Declares that the graph changes an operand in place, so that later ops are ordered after the call.", "",
     [](In, CallRef c, A args) -> Value {
       ArgReader a(args);
       Tensor* t = tensor_argument(a, "tensor", "set_parent_input_modified");
       if (c.ir->frozen)
         throw Error("the program belongs to a session already: its calls can't change").as(codes::complete);
       mark_modified(*c.op, t);
       return {};
     }},
};
constexpr std::span<const Member<CallInfoObject>> call_table(call_rows);

/// Rows for conditionals only.
constexpr Member<CallInfoObject> branch_rows[] = {
    {"then_graph", "The graph that runs if the condition is true; of a conditional.", "",
     [](In, CallRef c) -> Got { return graph_value(c.ir, c.op->called[0]); }},
    {"else_graph", "The graph that runs if the condition is false; of a conditional.", "",
     [](In, CallRef c) -> Got { return graph_value(c.ir, c.op->called[1]); }},
    {"condition", "The tensor that decides; of a conditional.", "",
     [](In, CallRef c) -> Got { return tensor_value(c.ir, c.op->inputs[0]); }},
};
constexpr std::span<const Member<CallInfoObject>> branch_table(branch_rows);

}  // namespace

MemberTable call_info_members() {
  MemberTable all = member_table(
      "call info", "A call, loop or conditional, as `call_with_info`, `repeat_with_info` and the like return it.",
      "from nn import Linear\nfacts, graph = Linear(3).create_graph(float32[2, 4])\n"
      "layer = graph.bind(facts.init_zero())\ninfo = layer.call_with_info(ones([2, 4]))",
      call_table);
  for (const Member<CallInfoObject>& row : branch_table) all.rows.push_back(&row.info);
  return all;
}

std::string CallInfoObject::repr(Interpreter&) {
  return fmt::format("CallInfo[{}.{}({})]", op->row->schedule, op->id, called_text(*op));
}

std::optional<Value> CallInfoObject::member(Interpreter& in, std::string_view name) {
  if (is_branch(*this))
    if (std::optional<Value> found = member_of_table(in, branch_table, *this, name)) return found;
  return member_of_table(in, call_table, *this, name);
}

std::vector<std::string> CallInfoObject::member_names() const {
  std::vector<std::string> names;
  append_names(names, call_table);
  if (op->row->role == Role::branch) append_names(names, branch_table);
  return names;
}

}  // namespace pxl
