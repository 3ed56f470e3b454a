// `scan(f, init, xs, ...)`: repeats a step along the first axis of sequences.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/block_transaction.hpp"
#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/derivatives/derivatives.hpp"
#include "interpreter/graphs/derivatives/gradients.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/graphs/modules/tensor_trees.hpp"
#include "interpreter/values/builtin.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/conversions.hpp"
#include "interpreter/values/operations.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

namespace {

/// The values in a list or tuple, or a single value. Values are tensors, arrays, or trees of them.
std::vector<Value> tensors_of(const Value& v) {
  if (v.is_none()) return {};
  if (auto* list = v.as<SequenceObject>()) return list->items;
  return {v};
}

struct ScanArguments {
  Value step;
  std::vector<Value> init, xs, others;
  Value count;
  bool reversed = false;
};

ScanArguments read_arguments(Arguments args) {
  ScanArguments found;
  const auto given = args.positional.size();
  if (given < 2)
    throw Error("scan takes a step, its first state, sequences, and the step's other inputs").as(codes::arguments);
  found.step = args.positional[0];
  found.init = tensors_of(args.positional[1]);
  if (given > 2) found.xs = tensors_of(args.positional[2]);
  found.others.assign(args.positional.begin() + static_cast<std::ptrdiff_t>(std::min<size_t>(given, 3)),
                      args.positional.end());
  Arguments named{args.span, {}, {}, std::move(args.named)};
  const ArgReader reader("scan", named, {"xs", "count", "reverse"});
  if (reader.has("xs")) {
    if (given > 2) throw Error("scan: `xs` is given twice").as(codes::arguments);
    found.xs = tensors_of(reader.value("xs"));
  }
  found.count = reader.value_or("count", {});
  found.reversed = reader.boolean_or("reverse", false);
  return found;
}

/// The leaves of states or sequences.
std::vector<Value> leaves_of(Interpreter& in, const std::vector<Value>& trees) {
  std::vector<Value> leaves;
  for (const Value& tree : trees)
    for (auto& [path, leaf] : tree_leaves(in, tree)) leaves.push_back(std::move(leaf));
  return leaves;
}

/// The dtypes of states that are numbers, by leaf.
using Dtypes = std::vector<std::optional<DType>>;

/// States with numbers as arrays: an int becomes int32 and a float float32, unless another dtype is known for it.
std::vector<Value> with_numbers(Interpreter& in, const std::vector<Value>& states, const Dtypes& dtypes) {
  std::vector<Value> out;
  size_t next = 0;
  for (const Value& state : states)
    out.push_back(map_tree(in, state, [&](const Value& v, const std::string&) {
      const auto known = next < dtypes.size() ? dtypes[next] : std::nullopt;
      ++next;
      if (!v.is_number() || v.is_bool()) return v;
      return Value(to_array(in, v, known.value_or(v.is_float() ? DType::float32 : DType::int32), "scan"));
    }));
  return out;
}

/// The dtypes that a step returns for states that were given as numbers; empty if the numbers have them.
Dtypes dtypes_of_numbers(Interpreter& in, const std::vector<Value>& given, const std::vector<Value>& states,
                         const std::vector<Value>& results) {
  Dtypes found;
  bool differ = false;
  for (size_t i = 0; i < given.size(); ++i) {
    const std::vector<TreeLeaf> was = tree_leaves(in, given[i]), now = tree_leaves(in, states[i]),
                                made = i < results.size() ? tree_leaves(in, results[i]) : std::vector<TreeLeaf>();
    for (size_t k = 0; k < was.size(); ++k) {
      const auto at = std::ranges::find(made, was[k].first, &TreeLeaf::first);
      const TensorSpec* spec = at == made.end() ? nullptr : at->second.as_spec();
      found.push_back(was[k].second.is_number() && spec ? std::optional(spec->dtype) : std::nullopt);
      differ = differ || (found.back() && *found.back() != now[k].second.as_array()->dtype());
    }
  }
  return differ ? found : Dtypes();
}

/// The specs of an iteration's slices. Sets `count` from the sequences.
std::vector<TensorSpec> slices_of(Interpreter& in, const std::vector<Value>& xs, std::optional<int64_t>& count) {
  std::vector<TensorSpec> slices;
  for (size_t i = 0; i < xs.size(); ++i) {
    TensorSpec spec = to_spec(in, xs[i], "scan");
    if (spec.shape.empty())
      throw Error(
          fmt::format("scan: sequence {} is {}: it needs a first axis, which counts the iterations", i, text(spec)))
          .as(codes::shape);
    if (count && *count != spec.shape[0])
      throw Error(fmt::format("scan: sequence {} has {} slices, where {} are expected", i, spec.shape[0], *count),
                  {"all sequences have the same first extent, which is `count` if that is given"})
          .as(codes::shape);
    count = spec.shape[0];
    spec.shape.erase(spec.shape.begin());
    slices.push_back(std::move(spec));
  }
  return slices;
}

/// The graph of the step. Removes the arguments from `others` that a def takes as constants.
Callable step_of(Interpreter& in, ScanArguments& given, const std::vector<TensorSpec>& slices, const Span& span) {
  if (given.step.as<GraphObject>() || given.step.as<BoundGraphObject>() || given.step.as<GradGraphObject>())
    return to_callable(given.step, "scan");
  Arguments args;
  args.span = span;
  for (const Value& state : given.init)
    args.positional.push_back(
        map_tree(in, state, [&](const Value& v, const std::string&) { return Value(to_spec(in, v, "scan")); }));
  size_t next = 0;
  for (const Value& sequence : given.xs)
    args.positional.push_back(
        map_tree(in, sequence, [&](const Value&, const std::string&) { return Value(slices[next++]); }));
  args.positional.insert(args.positional.end(), given.others.begin(), given.others.end());
  const GraphSource source = source_of_function(given.step, args);
  const BuiltGraph built = build_graph(in, source, std::move(args));
  if (const auto leaves = built.factories->leaves(); !leaves.empty())
    throw Error("scan: " + source.what + " has params with initial values (`" + leaves.front().first + "`)",
                {"make its graph with create_graph, and scan the graph that `bind` gives"})
        .as(codes::program);
  std::erase_if(given.others, [&](const Value& v) { return !holds_tensors(in, v); });
  return {graphs_of(in).target().ir, built.graph, built.captured, nullptr};
}

void check_step(const Graph& step, const ScanForm& form, const std::vector<TensorSpec>& slices,
                const BoundInputs& bound) {
  const auto& inputs = step.inputs();
  const size_t leading = form.carried + form.sliced;
  if (inputs.size() < leading)
    throw Error(fmt::format("scan: {} has {} inputs, but there are {} states and {} sequences", shown_name(step),
                            inputs.size(), form.carried, form.sliced))
        .as(codes::graph_inputs);
  if (step.declared_outputs() < form.carried)
    throw Error(fmt::format("scan: {} returns {} tensors, but there are {} states", shown_name(step),
                            step.declared_outputs(), form.carried),
                {"a step returns the next states, then what is stacked"})
        .as(codes::graph_inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i]->by_ref)
      throw Error(fmt::format("scan: input `{}` of {} is `ref`: a step changes nothing", input_name(*inputs[i]),
                              shown_name(step)),
                  {"carry it as a state, or use repeat"})
          .as(codes::graph_inputs);
    if (i < leading && bound.count(inputs[i]))
      throw Error(fmt::format("scan: input `{}` of {} is bound, but it is a state or slice", input_name(*inputs[i]),
                              shown_name(step)))
          .as(codes::graph_inputs);
  }
  for (size_t i = 0; i < form.carried; ++i) {
    const Tensor* next = step.outputs()[i];
    if (next->spec.shape != inputs[i]->spec.shape || next->spec.dtype != inputs[i]->spec.dtype)
      throw Error(fmt::format("scan: output {} of {} is {}, but it becomes the state `{}` of the next iteration, {}", i,
                              shown_name(step), text(next->spec), input_name(*inputs[i]), text(inputs[i]->spec)))
          .as(codes::graph_inputs);
  }
  for (size_t i = 0; i < slices.size(); ++i) {
    const Tensor* input = inputs[form.carried + i];
    if (input->spec.shape != slices[i].shape || input->spec.dtype != slices[i].dtype)
      throw Error(fmt::format("scan: input `{}` of {} is {}, but the slices of sequence {} are {}", input_name(*input),
                              shown_name(step), text(input->spec), i, text(slices[i])))
          .as(codes::graph_inputs);
  }
}

/// An operand: an array becomes a constant.
Value operand(Interpreter& in, const std::shared_ptr<Ir>& ir, const Value& v) {
  if (as_tensor(v)) return v;
  const TensorSpec spec = to_spec(in, v, "scan");
  return tensor_value(ir, to_operand(in, v, spec, "scan"));
}

/// The results of a step: a value for each state, then for each stacked result. Specs represent tensors.
std::vector<Value> results_of(Interpreter& in, const Callable& step) {
  const GraphFacts& facts = facts_of(in, step.ir, step.graph);
  if (facts.form == ResultForm::tree) {
    if (auto* list = facts.result.as<SequenceObject>()) return list->items;
    return {facts.result};
  }
  std::vector<Value> results;
  for (size_t j = 0; j < result_outputs(*step.graph); ++j) results.emplace_back(step.graph->outputs()[j]->spec);
  return results;
}

std::string listed(const std::vector<TreeLeaf>& leaves) {
  std::vector<std::string> paths;
  for (const TreeLeaf& leaf : leaves) paths.push_back(leaf.first.empty() ? "a tensor" : "`" + leaf.first + "`");
  return join_texts(paths, ", ");
}

/// The outputs of a step in the order of its states: a state that is a tree is matched by path.
Callable in_order_of_states(Interpreter& in, Callable step, const ScanArguments& given,
                            const std::vector<Value>& results) {
  std::vector<size_t> order;
  size_t first = 0;
  bool same = true;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::vector<TreeLeaf> made = tree_leaves(in, results[i]);
    const std::vector<TreeLeaf> wanted = i < given.init.size() ? tree_leaves(in, given.init[i]) : made;
    for (const TreeLeaf& leaf : wanted) {
      const auto at = std::ranges::find(made, leaf.first, &TreeLeaf::first);
      if (at == made.end() || made.size() != wanted.size())
        throw Error(
            fmt::format("scan: state {} has {}, but the step returns {} for it", i, listed(wanted), listed(made)))
            .as(codes::graph_inputs);
      const size_t j = first + static_cast<size_t>(at - made.begin());
      same = same && j == order.size();
      order.push_back(j);
    }
    first += made.size();
  }
  return same ? step : with_results(in, step, order);
}

/// The current value of a state.
Value current_state(Interpreter& in, const std::shared_ptr<Ir>& ir, const Value& holder) {
  Tensor* now = state_now(in, as_tensor(holder));
  return now ? tensor_value(ir, now) : holder;
}

}  // namespace

Value make_scan(Interpreter& in, Arguments args) {
  const Span span = args.span;
  ScanArguments given = read_arguments(std::move(args));
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  std::optional<int64_t> count;
  if (!given.count.is_none()) {
    if (!given.count.is_int() || given.count.as_int() < 0)
      type_error("scan: `count` is an int, at least 0, got " + with_article(given.count.type_name()));
    count = given.count.as_int();
  }
  const std::vector<Value> as_given = given.init, others = given.others;
  given.init = with_numbers(in, as_given, {});
  const std::vector<Value> xs = leaves_of(in, given.xs);
  const std::vector<TensorSpec> slices = slices_of(in, xs, count);
  if (!count)
    throw Error("scan: nothing tells the number of iterations", {"give sequences, or `count`"}).as(codes::arguments);
  if (*count > max_scan_iterations)
    throw Error(fmt::format("scan: {} iterations, but at most {} can be counted", *count, max_scan_iterations))
        .as(codes::value);
  BlockTransaction first(in);
  Callable whole = step_of(in, given, slices, span);
  std::vector<Value> made = results_of(in, whole);
  if (const Dtypes dtypes = dtypes_of_numbers(in, as_given, given.init, made); dtypes.empty()) {
    first.end();
  } else {
    first.take_back();
    given.init = with_numbers(in, as_given, dtypes);
    given.others = others;
    whole = step_of(in, given, slices, span);
    made = results_of(in, whole);
  }
  const std::vector<Value> init = leaves_of(in, given.init);
  if (made.size() >= given.init.size()) whole = in_order_of_states(in, whole, given, made);
  const CarriedBody carry = carry_states(in, whole, init.size());
  const Callable& step = carry.body;
  if (step.graph->is_main()) throw Error("the main graph can't be called").as(codes::program);
  ScanForm form;
  form.step = step.graph;
  form.count = *count;
  form.carried = init.size() + carry.holders.size();
  form.sliced = xs.size();
  form.reversed = given.reversed;
  check_step(*step.graph, form, slices, step.inputs);
  form.stacked = step.graph->declared_outputs() - form.carried;

  stamp(in, *ir);
  if (step.ir != ir)
    throw Error(shown_name(*step.graph) + " belongs to program " + step.ir->name() + ", but program " + ir->name() +
                    " is being built",
                {"graphs are called in the program that makes them"})
        .as(codes::other_graph);
  Graph& scan = make_scan(form);
  BoundInputs bound;
  for (size_t i = 0; i < step.graph->inputs().size(); ++i)
    if (const auto at = step.inputs.find(step.graph->inputs()[i]); at != step.inputs.end())
      bound.emplace(scan.inputs()[i],
                    is_state_of(*step.graph, at->first) ? current_state(in, ir, at->second) : at->second);
  Arguments operands;
  operands.span = span;
  for (const Value& v : init) operands.positional.push_back(operand(in, ir, v));
  for (Tensor* holder : carry.holders) operands.positional.push_back(current_state(in, ir, tensor_value(ir, holder)));
  for (const Value& v : xs) operands.positional.push_back(operand(in, ir, v));
  operands.positional.insert(operands.positional.end(), given.others.begin(), given.others.end());
  const Op* call = emit_call(in, ir, scan, bound, operands);
  for (size_t j = 0; j < carry.holders.size(); ++j) set_state(in, carry.holders[j], call->outputs[init.size() + j]);
  std::vector<Value> results;
  size_t next = 0;
  for (size_t i = 0; i < made.size(); ++i) {
    if (i == given.init.size()) next = form.carried;
    const Value& form_of = i < given.init.size() ? given.init[i] : made[i];
    results.push_back(map_tree(
        in, form_of, [&](const Value&, const std::string&) { return tensor_value(ir, call->outputs[next++]); }));
  }
  return results.size() == 1 ? results[0] : make_tuple(std::move(results));
}

}  // namespace pxl
