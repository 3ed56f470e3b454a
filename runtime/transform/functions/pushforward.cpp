#include "runtime/transform/functions/pushforward.hpp"
#include "runtime/transform/functions/own_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/stop_gradient.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/loops/scan.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {
namespace {

constexpr const char* custom_tangents = "custom_tangents";

CustomGradient custom_tangent(const Graph& graph) { return own_rule<CustomGradient>(graph, custom_tangents); }

std::vector<Tensor*> first_outputs(const Graph& graph, size_t count) {
  return {graph.outputs().begin(), graph.outputs().begin() + static_cast<std::ptrdiff_t>(count)};
}

/// Whether a path of floating tensors leads to an output from an input with a tangent, by output.
std::vector<bool> outputs_after(const Graph& graph, const std::vector<bool>& given) {
  std::vector<Tensor*> inputs;
  for (size_t i = 0; i < given.size(); ++i)
    if (given[i]) inputs.push_back(graph.inputs()[i]);
  const TensorSet after = tensors_after(graph, inputs);
  std::vector<bool> found;
  for (size_t j = 0; j < graph.declared_outputs(); ++j)
    found.push_back(is_floating(graph.outputs()[j]->spec.dtype) && after.count(graph.outputs()[j]) > 0);
  return found;
}

/// The inputs with a tangent, for a repeated graph: a state that gets one in an iteration has one before.
std::vector<bool> with_states(const Graph& body, std::vector<bool> given, size_t states) {
  for (bool grows = true; grows;) {
    grows = false;
    const std::vector<bool> after = outputs_after(body, given);
    for (size_t i = 0; i < states; ++i)
      if (after[i] && !given[i]) given[i] = grows = true;
  }
  return given;
}

/// A graph whose inputs and outputs are those of another one in a new order.
class Order {
 public:
  explicit Order(const Pushforward& of, const std::vector<bool>& given) : of_(of) {
    size_t tangents = given.size();
    for (const bool has : given) tangent_.push_back(has ? std::optional(tangents++) : std::nullopt);
  }
  /// The inputs or outputs in a range, then their tangents. Returns the number of all.
  size_t take_inputs(size_t begin, size_t end) { return take(inputs_, tangent_, begin, end); }
  size_t take_outputs(size_t begin, size_t end) { return take(outputs_, of_.tangent, begin, end); }
  /// The new graph's operands. `all` are parallel to the other graph's inputs.
  std::vector<Tensor*> operands(const std::vector<Tensor*>& all) const {
    std::vector<Tensor*> ordered;
    for (const size_t i : inputs_) ordered.push_back(all[i]);
    return ordered;
  }
  /// The new graph's output for output `j` of the other graph.
  size_t place(size_t j) const { return static_cast<size_t>(std::ranges::find(outputs_, j) - outputs_.begin()); }

  Graph& build(const std::string& title) const {
    Graph& made = of_.graph->ir().create_graph(title);
    std::vector<Tensor*> operands(of_.graph->inputs().size());
    for (const size_t i : inputs_) {
      const Tensor& like = *of_.graph->inputs()[i];
      operands[i] = made.add_input(like.spec, like.name);
    }
    const Op* call = made.add_call(*of_.graph, std::move(operands));
    for (const size_t j : outputs_) made.add_output(call->outputs[j]);
    return made;
  }

 private:
  static size_t take(std::vector<size_t>& list, const std::vector<std::optional<size_t>>& tangents, size_t begin,
                     size_t end) {
    const size_t before = list.size();
    for (size_t i = begin; i < end; ++i) list.push_back(i);
    for (size_t i = begin; i < end; ++i)
      if (tangents[i]) list.push_back(*tangents[i]);
    return list.size() - before;
  }

  const Pushforward& of_;
  std::vector<std::optional<size_t>> tangent_;  ///< by input: the input with its tangent
  std::vector<size_t> inputs_, outputs_;
};

class Pusher {
 public:
  /// Graphs by the original, its inputs with tangents, the outputs that have one in any case, and the number of
  /// outputs.
  using Known = std::map<std::tuple<Graph*, std::vector<bool>, std::vector<bool>, size_t>, Pushforward>;

  static const Pushforward& of_graph(Known& known, Graph& graph, const std::vector<bool>& given,
                                     const std::vector<bool>& forced, size_t outputs) {
    const auto [at, fresh] = known.try_emplace({&graph, given, forced, outputs});
    if (fresh) at->second = Pusher(graph, given, known).run(forced, outputs);
    return at->second;
  }

 private:
  Pusher(Graph& from, const std::vector<bool>& given, Known& known)
      : from_(from),
        ir_(from.ir()),
        graph_(ir_.create_graph(from.title() + "_tangent")),
        builder_(graph_),
        known_graphs_(known) {
    for (Tensor* t : from.inputs()) known_[t] = {graph_.add_input(t->spec, t->name), nullptr};
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i]) known_[from.inputs()[i]].tangent = graph_.add_input(from.inputs()[i]->spec, "tangent");
  }

  /// `forced`: the outputs that have a tangent in any case; `outputs`: how many are kept.
  Pushforward run(const std::vector<bool>& forced, size_t outputs) {
    for (const auto& op : from_.ops()) visit(*op);
    Pushforward made{&graph_, std::vector<std::optional<size_t>>(outputs)};
    for (size_t j = 0; j < outputs; ++j) graph_.add_output(of(from_.outputs()[j]).value);
    for (size_t j = 0; j < outputs; ++j) {
      const Dual y = of(from_.outputs()[j]);
      if (!y.tangent && !(j < forced.size() && forced[j])) continue;
      made.tangent[j] = graph_.outputs().size();
      graph_.add_output(y.tangent ? y.tangent : zeros(y.value->spec));
    }
    graph_.prune(graph_.inputs().size());
    return made;
  }

  /// A value and its tangent; null if the value does not change.
  struct Dual {
    Tensor *value = nullptr, *tangent = nullptr;
  };

  Dual of(Tensor* t) {
    const auto [at, fresh] = known_.emplace(t, Dual{});
    if (fresh) at->second.value = graph_.add_constant(t->data, t->name);  // inputs and results are known
    return at->second;
  }
  Tensor* tangent_of(Tensor* t) { return t && is_floating(t->spec.dtype) ? of(t).tangent : nullptr; }
  Tensor* zeros(const TensorSpec& spec) { return graph_.add_constant(Array::zeros(spec.dtype, spec.shape), "zeros"); }
  Tensor* sum(const std::vector<Tensor*>& terms) {
    Expr total = builder_.of(terms.at(0));
    for (size_t i = 1; i < terms.size(); ++i) total = total + builder_.of(terms[i]);
    return total.tensor();
  }
  std::vector<bool> tangents_among(const Op& op, size_t begin, size_t count) {
    std::vector<bool> given;
    for (size_t i = 0; i < count; ++i) given.push_back(tangent_of(op.inputs[begin + i]) != nullptr);
    return given;
  }
  std::vector<Tensor*> values(const Op& op, size_t begin, size_t count) {
    std::vector<Tensor*> found;
    for (size_t i = 0; i < count; ++i) found.push_back(op.inputs[begin + i] ? of(op.inputs[begin + i]).value : nullptr);
    return found;
  }
  /// Operands for a graph of values and tangents.
  std::vector<Tensor*> duals(const Op& op, size_t begin, const std::vector<bool>& given) {
    std::vector<Tensor*> all = values(op, begin, given.size());
    for (size_t i = 0; i < given.size(); ++i) {
      if (!given[i]) continue;
      Tensor* t = op.inputs[begin + i];
      all.push_back(of(t).tangent ? of(t).tangent : zeros(t->spec));
    }
    return all;
  }

  void visit(Op& op) {
    check_nothing_modified(op);
    place_like(ir_, op);
    const bool changes = std::ranges::any_of(op.inputs, [&](Tensor* t) { return tangent_of(t) != nullptr; });
    if (!changes)
      copy(op);
    else if (op.row->role == Role::call)
      call(op);
    else if (op.row->role == Role::loop)
      loop(op);
    else if (op.row->role == Role::branch)
      branch(op);
    else
      compute(op);
  }

  const Op& copy(const Op& op) {
    const Op* made = graph_.copy_op(op, values(op, 0, op.inputs.size()), op.called, op.stream);
    for (size_t j = 0; j < op.outputs.size(); ++j) known_[op.outputs[j]] = {made->outputs[j], nullptr};
    return *made;
  }
  /// Notes the results of a graph that has values and tangents.
  void give(const Op& op, const Pushforward& of, const Op& made) {
    for (size_t j = 0; j < of.tangent.size() && j < op.outputs.size(); ++j)
      known_[op.outputs[j]] = {made.outputs[j], of.tangent[j] ? made.outputs[*of.tangent[j]] : nullptr};
  }
  const Pushforward& of_graph(Graph& graph, const std::vector<bool>& given, const std::vector<bool>& forced,
                              size_t outputs) {
    const BuildStateGuard guard(ir_);
    return of_graph(known_graphs_, graph, given, forced, outputs);
  }

  // ---- transposed gradients

  void compute(const Op& op) {
    const Op& made = copy(op);
    const auto floats = [](const Tensor* t) { return is_floating(t->spec.dtype); };
    if (op.row->gradient == stop_gradient || std::ranges::none_of(op.outputs, floats)) return;
    if (!op.row->gradient) refuse_derivative(op);
    // The op alone, in a separate program: unused ops leave no trace.
    Ir scratch("tangent");
    scratch.replication_factor = ir_.replication_factor;
    Graph& alone = scratch.create_graph("op");
    std::vector<Tensor*> inputs;
    for (const Tensor* t : op.inputs) inputs.push_back(t ? alone.add_input(t->spec, t->name) : nullptr);
    for (Tensor* t : alone.copy_op(op, inputs, {}, nullptr)->outputs) alone.add_output(t);
    transpose_twice(op, made, alone, inputs);
  }

  /// `forward` computes what `op` does, from `inputs`; `made` is its copy here.
  void transpose_twice(const Op& op, const Op& made, Graph& forward, const std::vector<Tensor*>& inputs) {
    std::vector<Tensor*> required;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (tangent_of(op.inputs[slot])) required.push_back(inputs[slot]);
    const std::vector<Tensor*> provided = floating_once(first_outputs(forward, forward.declared_outputs()));
    const GradGraphInfoPtr back = differentiate(forward, provided, required, {}, false);
    if (back->expected_outputs.empty()) return;
    Graph& pull = *back->graph;
    const std::vector<Tensor*> gradients = pull.outputs();
    std::vector<Tensor*> given = pull.inputs();
    given.resize(provided.size());
    const GradGraphInfoPtr push = differentiate(pull, floating_once(gradients), given, {}, false);

    // The tensor here for each tensor of `forward`.
    const auto value = [&](const Tensor* t) {
      const size_t slot = index_in(inputs, t);
      return slot < inputs.size() ? of(op.inputs[slot]).value : made.outputs.at(index_in(forward.outputs(), t));
    };
    const auto operand_of_pull = [&](size_t i) {
      const ExpectedConnection& c = back->expected_inputs[i];
      return c.type == ConnectionType::fwd ? value(c.fwd_tensor) : zeros(c.fwd_tensor->spec);
    };
    std::vector<Tensor*> pulled;  // outputs of the gradient of zeros: values that its own gradient needs
    const auto value_in_pull = [&](const Tensor* t) {
      if (const size_t i = index_in(pull.inputs(), t); i < pull.inputs().size()) return operand_of_pull(i);
      std::vector<Tensor*> operands;
      for (size_t i = 0; pulled.empty() && i < pull.inputs().size(); ++i) operands.push_back(operand_of_pull(i));
      if (pulled.empty()) pulled = emit(pull, operands);
      return pulled.at(index_in(pull.outputs(), t));
    };
    std::vector<Tensor*> operands;
    for (const ExpectedConnection& c : push->expected_inputs) {
      if (c.type == ConnectionType::fwd) {
        operands.push_back(value_in_pull(c.fwd_tensor));
        continue;
      }
      std::vector<Tensor*> terms;
      for (size_t k = 0; k < gradients.size(); ++k)
        if (gradients[k] == c.fwd_tensor)
          terms.push_back(tangent_of(op.inputs[index_in(inputs, back->expected_outputs[k].fwd_tensor)]));
      operands.push_back(sum(terms));
    }
    const std::vector<Tensor*> tangents = emit(*push->graph, operands);
    for (size_t k = 0; k < push->expected_outputs.size(); ++k) {
      const Tensor* y = provided.at(index_in(pull.inputs(), push->expected_outputs[k].fwd_tensor));
      for (size_t j = 0; j < op.outputs.size() && j < forward.outputs().size(); ++j)
        if (forward.outputs()[j] == y) known_[op.outputs[j]].tangent = tangents[k];
    }
  }

  /// The outputs of a graph: by a call, or by copies of its ops if it belongs to another program.
  std::vector<Tensor*> emit(Graph& graph, const std::vector<Tensor*>& operands) {
    if (&graph.ir() == &ir_) return graph_.add_call(graph, operands)->outputs;
    std::unordered_map<const Tensor*, Tensor*> here;
    for (size_t i = 0; i < operands.size(); ++i) here[graph.inputs()[i]] = operands[i];
    const auto at = [&](Tensor* t) {
      Tensor*& found = here[t];
      if (!found) found = graph_.add_constant(t->data, t->name);
      return found;
    };
    for (const auto& op : graph.ops()) {
      std::vector<Tensor*> inputs;
      for (Tensor* t : op->inputs) inputs.push_back(t ? at(t) : nullptr);
      const Op* made = graph_.copy_op(*op, std::move(inputs), {}, nullptr);
      for (size_t j = 0; j < op->outputs.size(); ++j) here[op->outputs[j]] = made->outputs[j];
    }
    std::vector<Tensor*> results;
    for (Tensor* t : graph.outputs()) results.push_back(at(t));
    return results;
  }

  // ---- calls, loops and branches

  void call(const Op& op) {
    Graph& callee = *op.called[0];
    const std::vector<bool> given = tangents_among(op, 0, op.inputs.size());
    if (const CustomGradient custom = custom_tangent(callee)) {
      by_hand(op, custom, given);
      return push_kept(op, given);
    }
    if (is_custom_path(callee)) {
      transpose_twice(op, copy(op), callee, callee.inputs());
      return push_kept(op, given);
    }
    if (const auto form = scan_form(callee)) return scan(op, *form);
    const Pushforward& made = of_graph(callee, given, {}, op.outputs.size());
    give(op, made, *graph_.add_call(*made.graph, duals(op, 0, given)));
  }

  void by_hand(const Op& op, const CustomGradient& custom, const std::vector<bool>& given) {
    Graph& callee = *op.called[0];
    const Op& made = copy(op);
    std::vector<Tensor*> provided;
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i]) provided.push_back(callee.inputs()[i]);
    const GradGraphInfoPtr info =
        custom(callee, provided, floating_once(first_outputs(callee, callee.declared_outputs())));
    std::vector<Tensor*> operands;
    for (const ExpectedConnection& c : info->expected_inputs) {
      const size_t i = index_in(callee.inputs(), c.fwd_tensor);
      if (c.type == ConnectionType::fwd_grad)
        operands.push_back(of(op.inputs[i]).tangent);
      else if (i < op.inputs.size())
        operands.push_back(of(op.inputs[i]).value);
      else
        operands.push_back(made.outputs.at(index_in(callee.outputs(), c.fwd_tensor)));
    }
    const Op* tangents = graph_.add_call(*info->graph, std::move(operands));
    for (size_t k = 0; k < info->expected_outputs.size(); ++k)
      for (size_t j = 0; j < op.outputs.size(); ++j)
        if (callee.outputs()[j] == info->expected_outputs[k].fwd_tensor)
          known_[op.outputs[j]].tangent = tangents->outputs[k];
  }

  /// Values that a gradient keeps have the tangents of the ops, also in a graph with a derivative by hand.
  void push_kept(const Op& op, const std::vector<bool>& given) {
    const size_t declared = op.called[0]->declared_outputs();
    if (op.outputs.size() == declared) return;
    const Pushforward& made = of_graph(*op.called[0], given, {}, op.outputs.size());
    const Op& call = *graph_.add_call(*made.graph, duals(op, 0, given));
    for (size_t j = declared; j < op.outputs.size(); ++j)
      known_[op.outputs[j]] = {call.outputs[j], made.tangent[j] ? call.outputs[*made.tangent[j]] : nullptr};
  }

  void loop(const Op& op) {
    Graph& body = *op.called[0];
    const size_t states = body.declared_outputs();
    const std::vector<bool> given = with_states(body, tangents_among(op, 0, op.inputs.size()), states);
    const Pushforward& one =
        of_graph(body, given, {given.begin(), given.begin() + static_cast<std::ptrdiff_t>(states)}, states);
    Order order(one, given);
    order.take_inputs(0, states);
    order.take_inputs(states, given.size());
    order.take_outputs(0, states);
    const Op* made = add_loop(graph_, order.build(body.title() + "_tangent"), order.operands(duals(op, 0, given)),
                              iteration_limit(op), loop_condition(op));
    give_ordered(op, one, order, *made, states);
  }
  void give_ordered(const Op& op, const Pushforward& one, const Order& order, const Op& made, size_t count) {
    for (size_t j = 0; j < count; ++j)
      known_[op.outputs[j]] = {made.outputs[order.place(j)],
                               one.tangent[j] ? made.outputs[order.place(*one.tangent[j])] : nullptr};
  }

  void scan(const Op& op, const ScanForm& form) {
    Graph& step = *form.step;
    const size_t inputs = step.inputs().size(), outputs = step.declared_outputs();
    const std::vector<bool> given = with_states(step, tangents_among(op, 0, inputs), form.carried);
    const Pushforward& one =
        of_graph(step, given, {given.begin(), given.begin() + static_cast<std::ptrdiff_t>(form.carried)}, outputs);
    Order order(one, given);
    ScanForm wide = form;
    wide.carried = order.take_inputs(0, form.carried);
    wide.sliced = order.take_inputs(form.carried, form.carried + form.sliced);
    order.take_inputs(form.carried + form.sliced, inputs);
    order.take_outputs(0, form.carried);
    wide.stacked = order.take_outputs(form.carried, form.carried + form.stacked);
    order.take_outputs(form.carried + form.stacked, outputs);
    wide.step = &order.build(step.title() + "_tangent");
    std::vector<Tensor*> operands = order.operands(duals(op, 0, given));
    if (form.counted) operands.push_back(of(op.inputs.back()).value);
    give_ordered(op, one, order, *graph_.add_call(make_scan(wide), std::move(operands)), outputs);
    visit_keeping_scans(op, known_, [&](Op& inner) { visit(inner); });
  }

  void branch(const Op& op) {
    std::vector<std::vector<bool>> given;
    std::vector<bool> forced(op.outputs.size(), false);
    for (const size_t which : {0, 1}) {
      given.push_back(tangents_among(op, callee_operand_begin(op, which), op.called[which]->inputs().size()));
      const std::vector<bool> after = outputs_after(*op.called[which], given.back());
      for (size_t j = 0; j < forced.size(); ++j) forced[j] = forced[j] || after[j];
    }
    std::vector<Graph*> called;
    std::vector<Tensor*> operands{of(op.inputs[0]).value};
    for (const size_t which : {0, 1}) {
      called.push_back(of_graph(*op.called[which], given[which], forced, forced.size()).graph);
      const std::vector<Tensor*> own = duals(op, callee_operand_begin(op, which), given[which]);
      operands.insert(operands.end(), own.begin(), own.end());
    }
    const Op* made = graph_.add_control(*op.row, called, std::move(operands), op.attrs);
    give(op, of_graph(*op.called[0], given[0], forced, forced.size()), *made);
  }

  Graph& from_;
  Ir& ir_;
  Graph& graph_;
  GraphOpBuilder builder_;
  Known& known_graphs_;
  std::unordered_map<const Tensor*, Dual> known_;
};

}  // namespace

void set_custom_tangent(Graph& graph, CustomGradient tangent) {
  set_own_rule(graph, custom_tangents, std::move(tangent));
}

Pushforward pushforward(Graph& graph, const std::vector<bool>& given) {
  const BuildStateGuard guard(graph.ir());
  return all_or_nothing(graph.ir(), [&] {
    auto& memo = graph.ir().memo["pushforward"];  // a new map each time: marks keep the old one
    const auto before = std::static_pointer_cast<const Pusher::Known>(memo);
    const auto known = before ? std::make_shared<Pusher::Known>(*before) : std::make_shared<Pusher::Known>();
    Pushforward made = Pusher::of_graph(*known, graph, given, {}, graph.declared_outputs());
    memo = known;
    return made;
  });
}

}  // namespace pxl
