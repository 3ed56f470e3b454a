// The graph functions of the prelude: calls, autodiff, contexts, streams, sessions, named trees.
#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/programs.hpp"
#include "interpreter/library/builtins.hpp"
#include "interpreter/library/estimates.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/states.hpp"

namespace pxl {
namespace {

bool is_function(const Value& v) { return v.is_object() && v.object()->callable() && !is_graph_value(v); }

/// Splits `call(graph, ...)` into the callee and its arguments.
Value take_callee(Arguments& args, const char* where) {
  if (args.positional.empty()) throw Error(std::string(where) + " takes a graph, then its inputs").as(codes::arguments);
  Value callee = args.positional.front();
  args.positional.erase(args.positional.begin());
  if (!args.spans.empty()) args.spans.erase(args.spans.begin());
  if (!is_function(callee)) to_graph(callee, where);
  return callee;
}

/// The inputs of a conditional's branch: a list by position, or a map from inputs of the graph.
Arguments branch_arguments(Interpreter& in, const ArgReader& given, const std::string& name, const Span& span) {
  Arguments args;
  args.span = span;
  if (given.has(name + "_dict")) args.named.push_back({"inputs_dict", given.value(name + "_dict"), span});
  const Value v = given.value_or(name, {});
  if (v.is_none()) return args;
  if (v.as<DictObject>() || v.as<TreeObject>()) {
    args.named.push_back({"inputs", v, span});
  } else if (v.as<SequenceObject>()) {
    args.positional = elements_of(in, v);
  } else {
    args.positional.push_back(v);
  }
  return args;
}

std::pair<Op*, Callable> make_conditional(Interpreter& in, const Arguments& args, const char* where) {
  ArgReader a(where, args,
              {"condition", "then_branch", "else_branch", "then_inputs", "else_inputs", "then_inputs_dict",
               "else_inputs_dict"});
  Arguments of_yes = branch_arguments(in, a, "then_inputs", args.span);
  Arguments of_no = branch_arguments(in, a, "else_inputs", args.span);
  const auto branch = [&](const char* name, Arguments& given) {
    const Value f = a.value(name);
    if (!is_function(f)) return to_callable(f, where);
    Callable made = graph_of_function(in, f, given);
    std::vector<Value> tensors;
    for (const FunctionCall::Given& t : tensors_given(in, f, given)) tensors.push_back(t.tensor);
    given.positional = std::move(tensors);
    return made;
  };
  const Callable yes = branch("then_branch", of_yes), no = branch("else_branch", of_no);
  Op* op = emit_conditional(in, a.value("condition"), yes, of_yes, no, of_no);
  return {op, yes};
}

Value call_member(Interpreter& in, const char* name, Arguments args) {
  Value callee = take_callee(args, name);
  if (is_function(callee)) to_graph(callee, name);
  return invoke(in, member_of(in, callee, name, args.span), std::move(args));
}

}  // namespace

void bind_graph_builtins(Interpreter&, Scope& prelude) {
  define(prelude, no_effects,
         {"call(graph, *inputs, inputs = none)", "Calls a graph in the graph that is being built.",
          R"(def twice(x) { return x * 2 }
graph = ir.create_graph(twice, float32[2])
eval(call(graph, constant([1.0, 2.0]))))"},
         [](Interpreter& in, Arguments args) { return call_member(in, "call", std::move(args)); });
  define(prelude, no_effects,
         {"call_with_info(graph, *inputs, inputs = none)",
          "Calls a graph and gives the call site: its inputs and outputs, and the maps between both graphs.",
          R"(def twice(x) { return x * 2 }
graph = ir.create_graph(twice, float32[2])
info = call_with_info(graph, constant([1.0, 2.0]))
eval(info.output))"},
         [](Interpreter& in, Arguments args) { return call_member(in, "call_with_info", std::move(args)); });
  bind_loop_builtins(prelude);
  define(
      prelude, no_effects,
      {"scan(f, init, xs, *inputs, count = none, reverse = false)",
       "Runs a step along the first axis of sequences: f(*states, *slices, *inputs) returns the next states, then what "
       "is stacked. Gives the last states and the stacked results.",
       R"(def running_sum(state, x) { return state + x, state + x }
last, sums = scan(running_sum, constant([0.0]), constant([[1.0], [2.0], [3.0]]))
eval(sums))"},
      [](Interpreter& in, Arguments args) { return make_scan(in, std::move(args)); });
  define(prelude, no_effects,
         {"conditional(condition, then_branch, else_branch, then_inputs = none, else_inputs = none)",
          "Runs one of two graphs at run time, by a bool tensor of one element.", R"(def double(x) { return x * 2 }
def halve(x) { return x / 2 }
x = constant([4.0])
eval(conditional(constant(true), ir.create_graph(double, x), ir.create_graph(halve, x), [x], [x])))"},
         [](Interpreter& in, Arguments args) {
           const auto [op, branch] = make_conditional(in, args, "conditional");
           return call_result(in, branch.ir, *op);
         });
  define(prelude, no_effects,
         {"conditional_with_info(condition, then_branch, else_branch, then_inputs = none, else_inputs = none)",
          "The same, and gives the call site.", R"(def double(x) { return x * 2 }
def halve(x) { return x / 2 }
x = constant([4.0])
info = conditional_with_info(constant(false), ir.create_graph(double, x), ir.create_graph(halve, x), [x], [x])
eval(info.output))"},
         [](Interpreter& in, Arguments args) {
           const auto [op, branch] = make_conditional(in, args, "conditional_with_info");
           return Value(make_ref<CallInfoObject>(branch.ir, op, nullptr));
         });
  bind_gradient_builtins(prelude);
  bind_derivative_builtins(prelude);
  bind_directional_builtins(prelude);
  bind_vmap_builtin(prelude);
  bind_precision_builtin(prelude);
  bind_graph_making_builtins(prelude);
  bind_cost_builtins(prelude);
  bind_estimate_builtins(prelude);
  bind_seed_builtins(prelude);
  bind_rewrite_builtins(prelude);
  bind_variable_builtins(prelude);
  bind_stream_builtins(prelude);
  bind_param_builtins(prelude);
  bind_context_builtins(prelude);
  bind_replica_builtins(prelude);
  bind_remote_builtins(prelude);
  bind_pipeline_builtins(prelude);
  bind_session_builtins(prelude);
  bind_tree_builtins(prelude);
  bind_initialiser_builtins(prelude);
  bind_factory_builtins(prelude);
  bind_ir_builtin(prelude);
}

}  // namespace pxl
