// Calls graphs: turns arguments into a call op, and returns its results. Call sites are in call_sites.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/unknown.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/ir.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/autodiff.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

std::string input_name(const Tensor& input) { return input.key.empty() ? input.name : input.key; }

namespace {

std::string input_list(const std::vector<Tensor*>& inputs) {
  std::vector<std::string> parts;
  for (const Tensor* t : inputs) parts.push_back(input_name(*t) + ": " + text(t->spec));
  return join_texts(parts, ", ");
}

/// Whether the argument maps inputs to tensors. The last two names are PopXL's.
bool is_input_map(std::string_view argument) {
  return argument == "inputs" || argument == "args" || argument == "inputs_dict";
}

/// Finds the tensor for each input of a called graph.
class InputBinder {
 public:
  InputBinder(Interpreter& in, Graph& callee, const GraphFacts& facts)
      : in_(in),
        callee_(callee),
        facts_(facts),
        given_(callee.inputs().size()),
        from_(callee.inputs().size(), From::nothing) {}

  void bound(const BoundInputs& map) {
    for (const auto& [input, v] : map) put(index_of(input), v, From::bound);
  }
  void map(const Value& v, const std::string& argument) {
    if (v.is_none()) return;
    if (auto* tree = v.as<TreeObject>()) {
      for (auto& [name, leaf] : tree->leaves()) put(named(name), leaf, From::map);
      return;
    }
    auto* d = v.as<DictObject>();
    if (!d)
      type_error("`" + argument + "` takes a dict from inputs of the graph to tensors, got " +
                 with_article(v.type_name()));
    for (const auto& [k, leaf] : d->items) {
      if (const std::string* s = k.as_string()) {
        put(named(*s), leaf, From::map);
        continue;
      }
      Tensor* input = as_tensor(k);
      if (!input)
        type_error("`" + argument + "`: keys are inputs of the called graph, got " + with_article(k.type_name()));
      if (input->graph != &callee_ ||
          std::find(callee_.inputs().begin(), callee_.inputs().end(), input) == callee_.inputs().end())
        throw Error("graph input tensor `" + shown_name(*input) + "` is not in the called graph (" +
                    shown_name(callee_) + ")")
            .as(codes::other_graph);
      put(index_of(input), leaf, From::map);
    }
  }
  void positional(const std::vector<Value>& values) {
    std::vector<Value> flat;
    for (const Value& v : values) {
      std::vector<Value> tensors;
      if (!as_tensor(v)) tensors = tensors_of_tree(v);
      if (tensors.empty())
        flat.push_back(v);
      else
        flat.insert(flat.end(), tensors.begin(), tensors.end());
    }
    size_t i = 0;
    for (const Value& v : flat) {
      while (i < given_.size() && (from_[i] == From::bound || is_state_of(callee_, callee_.inputs()[i]))) ++i;
      if (i >= given_.size()) {
        size_t room =
            static_cast<size_t>(std::count_if(from_.begin(), from_.end(), [](From f) { return f == From::bound; }));
        throw Error(fmt::format("too many inputs for the called graph ({}): it takes {}, got {}", shown_name(callee_),
                                given_.size() - room, flat.size()),
                    {"its inputs: " + (callee_.inputs().empty() ? std::string("none") : input_list(callee_.inputs()))})
            .as(codes::graph_inputs);
      }
      put(i++, v, From::position);
    }
  }
  void by_name(const NamedArg& arg) {
    for (const GraphFacts::Group& g : facts_.groups) {
      if (g.name != arg.name || !g.is_list) continue;
      std::vector<Value> items = tensors_of_tree(arg.value);
      if (items.size() != g.count)
        throw Error(fmt::format("argument `{}` of {} takes {} tensors, got {}", g.name, shown_name(callee_), g.count,
                                items.size()))
            .as(codes::graph_inputs);
      for (size_t i = 0; i < items.size(); ++i) put(g.first + i, items[i], From::name);
      return;
    }
    put(named(arg.name), arg.value, From::name);
  }

  const NextStates& next() const { return next_; }
  std::vector<Tensor*> finish() {
    std::vector<Tensor*> missing, connected;
    for (size_t i = 0; i < given_.size(); ++i)
      (from_[i] == From::nothing ? missing : connected).push_back(callee_.inputs()[i]);
    for (const Tensor* t : missing)
      if (is_state_of(callee_, t))
        throw Error("state `" + input_name(*t) + "` of " + shown_name(callee_) + " is not bound",
                    {"`graph.bind(facts.init())` gives states and params their variables"})
            .as(codes::param);
    if (!missing.empty()) {
      const bool params = std::all_of(missing.begin(), missing.end(), [](const Tensor* t) { return !t->key.empty(); });
      std::vector<std::string> notes;
      if (params) notes.emplace_back("params are bound first: `net = graph.bind(facts.init())`, then `net(x)`");
      notes.push_back("connected: " + (connected.empty() ? std::string("none") : input_list(connected)));
      throw Error(
          "not enough inputs for the called graph (" + shown_name(callee_) + "): missing " + input_list(missing),
          std::move(notes))
          .as(codes::graph_inputs);
    }
    std::vector<Tensor*> out;
    Graph& caller = *graphs_of(in_).target().graph;
    for (size_t i = 0; i < given_.size(); ++i) {
      Tensor* input = callee_.inputs()[i];
      const std::string what = "input `" + input_name(*input) + "` of " + shown_name(callee_);
      Tensor* t = to_operand(in_, given_[i], input->spec, what);
      if (is_state_of(callee_, input)) t = current(*input, as_tensor(given_[i]) ? as_tensor(given_[i]) : t);
      if (t->graph != &caller)
        throw Error(
            "parent input tensor `" + shown_name(*t) + "` for " + what + " is not in the graph that is being built",
            {caller.is_main() ? "it belongs to " + (t->graph->is_main() ? "another program" : shown_name(*t->graph))
                              : "pass it to " + shown_name(caller) + " as an argument"})
            .as(codes::other_graph);
      if (t->spec != input->spec)
        throw Error(what + " is " + text(input->spec) + ", but `" + shown_name(*t) + "` is " + text(t->spec),
                    notes_on_specs(*t))
            .as(codes::graph_inputs);
      if (input->by_ref && !as_tensor(given_[i]))
        throw Error(what + " is `ref`: it takes a tensor, got " + given_[i].type_name()).as(codes::graph_inputs);
      out.push_back(t);
    }
    return out;
  }

 private:
  /// The way out where the graph of a module is called on another spec.
  std::vector<std::string> notes_on_specs(const Tensor& given) const {
    const auto has_key = [](const Tensor* input) { return !input->key.empty(); };
    if (std::ranges::none_of(callee_.inputs(), has_key)) return {};
    return {fmt::format("a graph has one spec: `module.bound({}, vars = net)` is the same net for this one",
                        shown_name(given))};
  }

  /// The tensors in a tree, or a flat list's elements, which are tensors and arrays. Empty if the value contains no
  /// tensor.
  std::vector<Value> tensors_of_tree(const Value& v) const {
    const auto* list = v.as<SequenceObject>();
    std::vector<Value> tensors = tensors_in(in_, v);
    if (tensors.empty() || !list ||
        std::any_of(list->items.begin(), list->items.end(), [](const Value& x) { return is_tree(x); }))
      return tensors;
    return list->items;
  }

  enum class From : uint8_t { nothing, bound, map, position, name };

  /// The current value of the state for an input. Notes which output of the call becomes the state's next value.
  Tensor* current(const Tensor& input, Tensor* holder) {
    for (const GraphState& s : states_of(callee_))
      if (s.input == &input && s.next) next_.emplace_back(*s.next, holder);
    Tensor* now = state_now(in_, holder);
    return now ? now : holder;
  }

  size_t index_of(const Tensor* input) const {
    const auto& inputs = callee_.inputs();
    return static_cast<size_t>(std::find(inputs.begin(), inputs.end(), input) - inputs.begin());
  }
  size_t named(const std::string& name) const {
    std::vector<std::string> names;
    const auto& inputs = callee_.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (input_name(*inputs[i]) == name) return i;
      names.push_back(input_name(*inputs[i]));
    }
    if (std::find(facts_.baked.begin(), facts_.baked.end(), name) != facts_.baked.end())
      throw Error(
          "`" + name + "` is no input of " + shown_name(callee_) + ": it was a constant when the graph was built",
          {"give create_graph a tensor or a spec for it to make it an input"})
          .as(codes::graph_inputs);
    std::string hint = did_you_mean(name, names);
    if (name == "training" || name == "train")
      throw Error(
          "`" + name + "` is no input of " + shown_name(callee_),
          {fmt::format("a net is built for training: `{}(...).bound(x, training = true)`", shown_name(callee_))})
          .as(codes::graph_inputs);
    throw Error("`" + name + "` is no input of " + shown_name(callee_) + (hint.empty() ? "" : "; " + hint),
                {"its inputs: " + (names.empty() ? std::string("none") : join_texts(names, ", "))})
        .as(codes::graph_inputs);
  }
  void put(size_t i, const Value& v, From from) {
    if (i >= given_.size()) return;
    if (from_[i] != From::nothing && from_[i] != From::bound)
      throw Error("graph input tensor `" + input_name(*callee_.inputs()[i]) +
                  "` is specified twice for the called graph (" + shown_name(callee_) + ")")
          .as(codes::graph_inputs);
    given_[i] = v;
    from_[i] = from;
  }

  Interpreter& in_;
  Graph& callee_;
  const GraphFacts& facts_;
  std::vector<Value> given_;
  std::vector<From> from_;
  NextStates next_;
};

}  // namespace

void stamp(Interpreter& in, Ir& ir) { ir.origin = Origin{position_of(in).here, position_of(in).frames}; }

Tensor* to_operand(Interpreter& in, const Value& v, const TensorSpec& spec, const std::string& what) {
  if (Tensor* t = as_tensor(v)) {
    check_in_effect(what, *t);
    return reached(in, t);
  }
  if (v.as_spec()) throw Error(what + " is given a spec: a call takes a tensor").as(codes::graph_inputs);
  if (!v.is_number() && !v.as_array() && !v.as<SequenceObject>())
    misuse_error(what + " takes a tensor, a number or an array, got " + with_article(v.type_name()), v);
  if (v.is_float() && !is_floating(spec.dtype))
    type_error(what + " is " + text(spec) + ": a float can't become " + std::string(name(spec.dtype)));
  Array a = to_array(in, v, spec.dtype, what);
  Graph& graph = *graphs_of(in).target().graph;
  stamp(in, graph.ir());
  return graph.add_constant(std::move(a), "t");
}

namespace {

CallOperands bind_inputs(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph, const BoundInputs& bound,
                         const Arguments& args) {
  BuildTarget target = graphs_of(in).target();
  if (target.ir != ir)
    throw Error(
        shown_name(graph) + " belongs to program " + ir->name() + ", but program " + target.ir->name() +
            " is being built",
        {"graphs are called in the program that makes them; `module.bound(x, vars = net)` makes one here with the "
         "variables of another"})
        .as(codes::other_graph);
  if (graph.is_main()) throw Error("the main graph can't be called").as(codes::program);
  for (const BuildTarget& t : graphs_of(in).targets())
    if (t.graph == &graph)
      throw Error(shown_name(graph) + " can't call itself: it is still being built").as(codes::program);
  InputBinder binder(in, graph, facts_of(in, ir, &graph));
  BoundInputs captured = bound;
  for (const auto& [input, outer] : facts_of(in, ir, &graph).captured) captured.emplace(input, tensor_value(ir, outer));
  try {
    binder.bound(captured);
    for (const NamedArg& n : args.named)
      if (is_input_map(n.name)) binder.map(n.value, n.name);
    binder.positional(args.positional);
    for (const NamedArg& n : args.named)
      if (!is_input_map(n.name)) binder.by_name(n);
    CallOperands operands{binder.finish(), binder.next()};
    stamp(in, *ir);
    return operands;
  } catch (const Error&) {
    // In a look, a graph that was built with an unknown value may lack an input for it.
    if (check_in_progress(in) && holds_unknown(args)) throw Unevaluated{};
    throw;
  }
}

}  // namespace

CallOperands operands_of(Interpreter& in, const Callable& callable, const Arguments& args) {
  return bind_inputs(in, callable.ir, *callable.graph, callable.inputs, args);
}

CallOperands carried_operands(Interpreter& in, Callable& body, size_t carried, const Arguments& args) {
  CarriedBody carry = carry_states(in, body, carried);
  body = std::move(carry.body);
  for (size_t i = 0; i < carry.holders.size(); ++i)
    body.inputs[body.graph->inputs()[carried + i]] = tensor_value(body.ir, carry.holders[i]);
  return operands_of(in, body, args);
}

Op* add_call(Interpreter& in, Graph& graph, CallOperands operands) {
  Op* call = graphs_of(in).target().graph->add_call(graph, std::move(operands.tensors));
  order_gradient_call(*call);
  set_states(in, *call, operands.next);
  return call;
}

Op* emit_call(Interpreter& in, const std::shared_ptr<Ir>& ir, Graph& graph, const BoundInputs& bound,
              const Arguments& args) {
  return add_call(in, graph, bind_inputs(in, ir, graph, bound, args));
}

Op* emit_repeat(Interpreter& in, Callable body, int64_t count, const Arguments& args) {
  if (count < 0) throw Error(fmt::format("repeat: the count must be at least 0, got {}", count)).as(codes::value);
  CallOperands operands = carried_operands(in, body, result_outputs(*body.graph), args);
  Op* op = add_loop(*graphs_of(in).target().graph, *body.graph, std::move(operands.tensors), count);
  set_states(in, *op, operands.next);
  return op;
}

Op* emit_conditional(Interpreter& in, const Value& condition, Callable yes, const Arguments& yes_args, Callable no,
                     const Arguments& no_args) {
  Tensor* chooses = reached(in, as_tensor(condition));
  if (!chooses)
    misuse_error("conditional takes a tensor as its condition, got " + with_article(condition.type_name()) +
                     ": a condition known now is for `if`",
                 condition);
  static const OpRow& row = get_op("branch");
  std::vector<Tensor*> inputs{chooses};
  join_states(in, yes, no);
  const CallOperands of_yes = operands_of(in, yes, yes_args), of_no = operands_of(in, no, no_args);
  inputs.insert(inputs.end(), of_yes.tensors.begin(), of_yes.tensors.end());
  inputs.insert(inputs.end(), of_no.tensors.begin(), of_no.tensors.end());
  Op* op = graphs_of(in).target().graph->add_control(row, {yes.graph, no.graph}, std::move(inputs),
                                                     Attributes(row.params.size()));
  set_states(in, *op, of_yes.next);
  return op;
}

Callable to_callable(const Value& v, const char* where) {
  if (auto* bound = v.as<BoundGraphObject>())
    return {bound->graph->ir, bound->graph->graph, bound->all_inputs(), bound->vars};
  const auto graph = to_graph(v, where);
  return {graph->ir, graph->graph, graph->captured, nullptr};
}

Value in_result_form(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph& graph, std::vector<Value> outputs) {
  const GraphFacts& facts = facts_of(in, ir, &graph);
  if (facts.form == ResultForm::nothing && outputs.empty()) return {};
  if (facts.form == ResultForm::single && outputs.size() == 1) return outputs[0];
  if (facts.form == ResultForm::tree && outputs.size() == result_outputs(graph)) {
    size_t next = 0;
    return map_tree(in, facts.result, [&](const Value&, const std::string&) { return outputs[next++]; });
  }
  return make_tuple(std::move(outputs));
}

Value call_result(Interpreter& in, const std::shared_ptr<Ir>& ir, const Op& op) {
  const Graph& callee = *op.called[0];
  std::vector<Value> out;
  for (size_t i = 0; i < result_outputs(callee) && i < op.outputs.size(); ++i)
    out.push_back(tensor_value(ir, op.outputs[i]));
  return in_result_form(in, ir, callee, std::move(out));
}

std::vector<Tensor*> to_tensors(Interpreter& in, const Value& v, const char* where) {
  std::vector<Value> items;
  if (as_tensor(v))
    items.push_back(v);
  else if (auto* tree = v.as<TreeObject>())
    for (auto& [name, leaf] : tree->leaves()) items.push_back(leaf);
  else
    items = elements_of(in, v);
  std::vector<Tensor*> out;
  for (const Value& item : items) {
    Tensor* t = as_tensor(item);
    if (!t) misuse_error(std::string(where) + " takes tensors, got " + with_article(item.type_name()), item);
    out.push_back(t);
  }
  return out;
}

}  // namespace pxl
