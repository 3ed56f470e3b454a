// `repeat(f, count, ...)` and `repeat_while(step, condition, ...)`: loops of graphs.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/wanted.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/states.hpp"
#include "runtime/transform/loops/repeat_while.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {
namespace {

using Dtypes = std::vector<std::optional<DType>>;

/// A number or an array that a loop is given is a tensor.
Value as_operand(Interpreter& in, const Value& v, std::optional<DType> dtype, const char* where) {
  const bool is_number = v.is_number() && !v.is_bool();
  if (!is_number && !v.as_array()) return v;
  const Array a =
      is_number ? to_array(in, v, dtype.value_or(v.is_float() ? DType::float32 : DType::int32), where) : *v.as_array();
  const BuildTarget target = graphs_of(in).target();
  stamp(in, *target.ir);
  return tensor_value(target.ir, target.graph->add_constant(a, "t"));
}

/// The body of a loop, and the arguments that it is called with.
struct LoopBody {
  Callable body;
  Arguments args;                  ///< in the form that they were given in
  std::vector<TreeLeaf> operands;  ///< the tensors among them, by path
};

class BodyMaker {
 public:
  BodyMaker(Interpreter& in, const Value& f, const Arguments& given, const char* where)
      : in_(in), f_(f), given_(given), where_(where) {}

  /// A number takes the dtype that the body returns for it.
  LoopBody make() {
    BlockTransaction first(in_);
    LoopBody made = with({});
    Dtypes wanted(numbers_.size());
    bool again = false;
    const auto& outputs = made.body.graph->outputs();
    const std::vector<std::string> results = result_paths(in_, made.body.ir, *made.body.graph);
    for (size_t i = 0; i < numbers_.size() && made.operands.size() == numbers_.size(); ++i) {
      const auto at = std::ranges::find(results, made.operands[i].first);
      const size_t j = at == results.end() ? i : static_cast<size_t>(at - results.begin());
      if (!numbers_[i] || j >= results.size()) continue;
      wanted[i] = outputs[j]->spec.dtype;
      again = again || *wanted[i] != as_tensor(made.operands[i].second)->spec.dtype;
    }
    if (again)
      first.take_back();
    else
      first.end();
    return again ? with(wanted) : made;
  }

 private:
  LoopBody with(const Dtypes& dtypes) {
    LoopBody made{{}, given_, {}};
    numbers_.clear();
    const auto convert = [&](const Value& v, const std::string&) {
      const size_t i = numbers_.size();
      Value t = as_operand(in_, v, i < dtypes.size() ? dtypes[i] : std::nullopt, where_);
      if (as_tensor(t)) numbers_.push_back(v.is_number());
      return t;
    };
    for (Value& v : made.args.positional) v = map_tree(in_, v, convert);
    const bool one = made.args.positional.size() == 1;
    const Value all = one ? made.args.positional[0] : make_tuple(made.args.positional);
    if (!is_graph_value(f_)) {
      made.body = graph_of_function(in_, f_, made.args);
      for (const FunctionCall::Given& t : tensors_given(in_, f_, made.args)) {
        std::string path = one ? "" : std::to_string(t.position);
        if (!t.path.empty()) path += (path.empty() ? "" : ".") + t.path;
        made.operands.emplace_back(std::move(path), t.tensor);
      }
      return made;
    }
    made.body = to_callable(f_, where_);
    for (TreeLeaf& leaf : tree_leaves(in_, all))
      if (as_tensor(leaf.second)) made.operands.push_back(std::move(leaf));
    return made;
  }

  Interpreter& in_;
  const Value& f_;
  const Arguments& given_;
  const char* where_;
  std::vector<bool> numbers_;  ///< by operand: whether it was given as a number
};

Arguments call_arguments(const LoopBody& loop) {
  Arguments args;
  args.span = loop.args.span;
  for (const TreeLeaf& leaf : loop.operands) args.positional.push_back(leaf.second);
  return args;
}

/// Takes `name = ...` out of the arguments.
Value take_option(Arguments& args, std::string_view name) {
  const auto named = std::ranges::find_if(args.named, [&](const NamedArg& n) { return n.name == name; });
  if (named == args.named.end()) return {};
  Value v = std::move(named->value);
  args.named.erase(named);
  return v;
}

Value take_leading(Arguments& args) {
  Value first = std::move(args.positional.front());
  args.positional.erase(args.positional.begin());
  if (!args.spans.empty()) args.spans.erase(args.spans.begin());
  return first;
}

std::optional<int64_t> to_bound(const Value& v, const char* where) {
  if (v.is_none()) return std::nullopt;
  if (!v.is_int() || v.is_bool() || v.as_int() < 0 || v.as_int() > max_scan_iterations)
    throw Error(fmt::format("{}: `bound` is the largest number of iterations, an int from 0 to {}, or none", where,
                            max_scan_iterations))
        .as(codes::value);
  return v.as_int();
}

/// The first inputs of a graph are the states of its loop.
void check_states(const Callable& callable, size_t states, const char* where) {
  const auto& inputs = callable.graph->inputs();
  for (size_t i = 0; i < states; ++i)
    if (i >= inputs.size() || callable.inputs.count(inputs[i]))
      throw Error(fmt::format("{}: {} takes {} inputs before those that are bound, but there are {} states", where,
                              callable.graph->id(), i, states))
          .as(codes::graph_inputs);
}

// ---- repeat

Op* repeat_by_tensor(Interpreter& in, const LoopBody& loop, const Arguments& args, const Value& count,
                     std::optional<int64_t> bound) {
  WhileForm form{nullptr, nullptr, {}, reached(in, as_tensor(count)), bound};
  if (form.count->spec.dtype != DType::int32 || !form.count->spec.shape.empty())
    throw Error("repeat: the count is an int or an int32[] tensor, got " + text(form.count->spec)).as(codes::type);
  Callable step = loop.body;
  check_states(step, result_outputs(*step.graph), "repeat");
  const CallOperands operands = carried_operands(in, step, result_outputs(*step.graph), args);
  form.step = step.graph;
  Op* op = add_while(*graphs_of(in).target().graph, form, operands.tensors, {});
  set_states(in, *op, operands.next);
  return op;
}

/// `repeat(f, count, ...)`: the loop op and what it repeats.
std::pair<Op*, Callable> make_repeat(Interpreter& in, Arguments args, const char* where) {
  if (args.positional.empty()) throw Error(std::string(where) + " takes a graph, then its inputs").as(codes::arguments);
  const Value callee = take_leading(args);
  const bool is_graph = is_graph_value(callee);
  if (!callee.is_object() || !callee.object()->callable()) to_graph(callee, where);  // throws
  const Value count = args.positional.empty() ? take_option(args, "count") : take_leading(args);
  const std::optional<int64_t> bound = to_bound(take_option(args, "bound"), where);
  if (!count.is_int() && !as_tensor(count))
    type_error(std::string(where) + " takes how often as its second argument, an int or an int32[] tensor, got " +
               with_article(count.type_name()));
  LoopBody loop;
  if (is_graph)
    loop.body = to_callable(callee, where);
  else
    loop = BodyMaker(in, callee, args, where).make();
  if (!is_graph) args = call_arguments(loop);
  if (as_tensor(count)) return {repeat_by_tensor(in, loop, args, count, bound), loop.body};
  if (bound && count.as_int() > *bound)
    throw Error(fmt::format("{}: the count {} is above the bound {}", where, count.as_int(), *bound)).as(codes::value);
  return {emit_repeat(in, loop.body, count.as_int(), args), loop.body};
}

// ---- repeat_while

std::string listed(const std::vector<std::string>& paths) {
  std::vector<std::string> shown;
  for (const std::string& p : paths) shown.push_back(p.empty() ? "a tensor" : "`" + p + "`");
  return shown.empty() ? "nothing" : join_texts(shown, ", ");
}

/// For each state, the output of the step with the same path. Throws unless the paths are the same.
std::vector<size_t> outputs_by_state(Interpreter& in, const LoopBody& loop) {
  const std::vector<std::string> results = result_paths(in, loop.body.ir, *loop.body.graph);
  std::vector<std::string> states;
  for (const TreeLeaf& leaf : loop.operands) states.push_back(leaf.first);
  std::vector<size_t> found;
  for (const std::string& path : states) {
    const auto at = std::ranges::find(results, path);
    if (at != results.end()) found.push_back(static_cast<size_t>(at - results.begin()));
  }
  if (states.size() == 1 && results.size() == 1) found = {0};
  if (found.size() != states.size() || states.size() != results.size())
    throw Error("repeat_while: the step returns " + listed(results) + ", but the states are " + listed(states),
                {"a step returns all states; values that stay the same are captured"})
        .as(codes::graph_inputs);
  for (size_t i = 0; i < states.size(); ++i) {
    const TensorSpec &state = as_tensor(loop.operands[i].second)->spec,
                     &next = loop.body.graph->outputs()[found[i]]->spec;
    if (state.shape != next.shape || state.dtype != next.dtype)
      throw Error(fmt::format("repeat_while: {} is {}, but the step returns {} for it",
                              states[i].empty() ? "the state" : "the state `" + states[i] + "`", text(state),
                              text(next)))
          .as(codes::graph_inputs);
  }
  return found;
}

/// The condition reads none of the memory that an iteration changes.
void check_reads(const Graph& step, const std::vector<Tensor*>& of_step, const std::vector<Tensor*>& of_condition) {
  for (size_t i = 0; i < of_step.size(); ++i)
    for (size_t k = 0; step.inputs()[i]->by_ref && k < of_condition.size(); ++k)
      if (is_memory_of(of_condition[k], of_step[i]) || is_memory_of(of_step[i], of_condition[k]))
        throw Error(
            "repeat_while: the condition reads `" + of_condition[k]->name + "`, which the step changes in place",
            {"make it a state: the step returns its new value"})
            .as(codes::in_place);
}

/// The step of a loop with a condition, whose results are in the order of its states.
Callable step_in_order(Interpreter& in, const LoopBody& loop, const std::vector<size_t>& order) {
  return std::ranges::is_sorted(order) ? loop.body : with_results(in, loop.body, order);
}

/// For each input of the condition, the state that it reads. The first inputs are the loop's states. The others may be
/// states of modules that the step writes.
std::vector<std::optional<size_t>> states_that_it_reads(Interpreter& in, const Callable& condition, size_t states,
                                                        const NextStates& written) {
  const auto& inputs = condition.graph->inputs();
  std::vector<std::optional<size_t>> reads(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (i < states) reads[i] = i;
    if (i < states || !is_state_of(*condition.graph, inputs[i])) continue;
    const Tensor* holder = holder_of(in, condition, inputs[i]);
    for (const auto& [output, of] : written)
      if (of == holder) reads[i] = output;
  }
  return reads;
}

Value make_repeat_while(Interpreter& in, Arguments args) {
  if (args.positional.size() < 3)
    throw Error("repeat_while takes a step, a condition, then the states",
                {"`repeat_while(step, (y, t) => t < 1, y, 0.0, bound = 100)`"})
        .as(codes::arguments);
  const Value step = take_leading(args), condition = take_leading(args);
  const std::optional<int64_t> bound = to_bound(take_option(args, "bound"), "repeat_while");
  if (!args.named.empty())
    throw Error("repeat_while: `" + args.named[0].name + "` is no argument: states are given by position")
        .as(codes::arguments);
  for (const Value& f : {step, condition})
    if (!f.is_object() || !f.object()->callable())
      type_error("repeat_while takes a function or graph, got " + with_article(f.type_name()));
  const LoopBody loop = BodyMaker(in, step, args, "repeat_while").make();
  const std::vector<size_t> order = outputs_by_state(in, loop);
  Callable body = step_in_order(in, loop, order);
  check_states(body, order.size(), "repeat_while");
  const Callable decides =
      is_graph_value(condition) ? to_callable(condition, "repeat_while") : graph_of_function(in, condition, loop.args);
  check_states(decides, order.size(), "repeat_while");
  const Arguments states = call_arguments(loop);
  const CallOperands of_step = carried_operands(in, body, order.size(), states),
                     of_condition = operands_of(in, decides, states);
  if (!of_condition.next.empty())
    throw Error("repeat_while: the condition writes the state `" + of_condition.next[0].second->name +
                    "` of a module: it only reads",
                {"call the module in the step, and return what the condition needs as a state",
                 "`net.frozen()` reads states alone"})
        .as(codes::graph_inputs);
  check_reads(*body.graph, of_step.tensors, of_condition.tensors);
  const WhileForm form{body.graph, decides.graph, states_that_it_reads(in, decides, order.size(), of_step.next),
                       nullptr, bound};
  const Op* op = add_while(*graphs_of(in).target().graph, form, of_step.tensors, of_condition.tensors);
  set_states(in, *op, of_step.next);
  std::vector<Value> results(order.size());
  for (size_t i = 0; i < results.size(); ++i) results[order[i]] = tensor_value(loop.body.ir, op->outputs[i]);
  return in_result_form(in, loop.body.ir, *loop.body.graph, std::move(results));
}

}  // namespace

void bind_loop_builtins(Scope& prelude) {
  define(prelude, no_effects,
         {"repeat(graph, count, *inputs, inputs = none, bound = none)",
          "Runs a graph a number of times: its declared outputs become its first inputs, the others stay. The count "
          "may be "
          "an int32[] tensor; a gradient then needs `bound`, the largest count.",
          R"(def twice(x) { return x * 2 }
graph = ir.create_graph(twice, float32[1])
eval(repeat(graph, 5, constant([1.0]))))"},
         [](Interpreter& in, Arguments args) {
           const auto [op, body] = make_repeat(in, std::move(args), "repeat");
           if (!loop_condition(*op)) return call_result(in, body.ir, *op);
           std::vector<Value> states;
           for (size_t i = 0; i < result_outputs(*body.graph); ++i)
             states.push_back(tensor_value(body.ir, op->outputs[i]));
           return in_result_form(in, body.ir, *body.graph, std::move(states));
         });
  define(
      prelude, no_effects,
      {"repeat_with_info(graph, count, *inputs, inputs = none, bound = none)", "The same, and gives the call site.",
       R"(def twice(x) { return x * 2 }
graph = ir.create_graph(twice, float32[1])
eval(repeat_with_info(graph, 5, constant([1.0])).output))"},
      [](Interpreter& in, Arguments args) {
        const auto [op, body] = make_repeat(in, std::move(args), "repeat_with_info");
        if (loop_condition(*op))
          type_error(
              "repeat_with_info takes an int as its second argument: a loop whose count is a tensor has another body");
        return Value(make_ref<CallInfoObject>(body.ir, op, body.vars));
      });
  define(prelude, no_effects,
         {"repeat_while(step, condition, *states, bound = none)",
          "Runs a step as long as the condition holds, which is read before each iteration. Both are functions of the "
          "states; the step returns the next ones. A gradient needs `bound`, the largest number of iterations.",
          R"(x, n = repeat_while((x, n) => (x * 2, n + 1), (x, n) => x < 100, 3.0, 0)
eval(x), eval(n))"},
         [](Interpreter& in, Arguments args) { return make_repeat_while(in, std::move(args)); });
}

}  // namespace pxl
