// States of builds: their current values, their declaration in a finished graph, and loops and branches that carry
// them.
#include "interpreter/graphs/modules/states.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/graphs/calls/graph_builder.hpp"
#include "interpreter/graphs/declarations.hpp"
#include "interpreter/graphs/modules/modules.hpp"
#include "interpreter/language/activation.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/evaluate.hpp"
#include "interpreter/language/graph_statements.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/operations.hpp"
#include "interpreter/values/ops.hpp"
#include "interpreter/values/unknown.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/graph/sequencing.hpp"
#include "runtime/graph/transaction.hpp"

namespace pxl {
namespace {

std::vector<StateValue>& values_of(Interpreter& in, const std::shared_ptr<Ir>& ir, const Graph* graph) {
  return graphs_of(in).world().of(ir).states[graph];
}

StateValue* find(std::vector<StateValue>& states, const Tensor* holder) {
  const auto at = std::ranges::find(states, holder, &StateValue::holder);
  return at == states.end() ? nullptr : &*at;
}

/// The current value at a level of the targets. A new value is added there, and at the levels from which it is
/// captured.
Tensor* value_at(Interpreter& in, size_t level, Tensor* holder) {
  const BuildTarget at = graphs_of(in).targets()[level];
  if (const StateValue* known = find(values_of(in, at.ir, at.graph), holder)) return known->values.back();
  Tensor* value = holder;
  if (at.graph != holder->graph) {
    if (level == 0 || !at.captures || at.ir.get() != &holder->graph->ir()) return nullptr;
    Tensor* outer = value_at(in, level - 1, holder);
    if (!outer) return nullptr;
    value = add_captured(*at.graph, *holder);
    at.captures->all.push_back({value, outer, holder, true});
  }
  GraphTransaction::changing(*at.ir);
  values_of(in, at.ir, at.graph).push_back({holder, {value}, nullptr});
  return value;
}

std::string name_of(const Tensor& t) { return t.key.empty() ? t.name : t.key; }

}  // namespace

Tensor* state_now(Interpreter& in, Tensor* holder) {
  const size_t levels = graphs_of(in).targets().size();
  return levels == 0 ? nullptr : value_at(in, levels - 1, holder);
}

void set_state(Interpreter& in, Tensor* holder, Tensor* value) {
  const BuildTarget& target = graphs_of(in).target();
  GraphTransaction::changing(*target.ir);
  if (StateValue* known = find(values_of(in, target.ir, target.graph), holder)) known->values.push_back(value);
}

bool is_state(Interpreter& in, const Tensor* t) {
  const auto& irs = graphs_of(in).world().irs;
  const auto ir = irs.find(&t->graph->ir());
  if (ir == irs.end()) return false;
  const auto known = ir->second.states.find(t->graph);
  return known != ir->second.states.end() &&
         std::ranges::find(known->second, t, &StateValue::holder) != known->second.end();
}

void finish_states(Interpreter& in, Graph& graph) {
  std::vector<GraphState> states;
  for (const StateValue& s : values_of(in, graphs_of(in).target().ir, &graph)) {
    GraphState declared{s.values.front(), {}};
    if (s.values.size() > 1) {
      declared.next = graph.outputs().size();
      graph.add_output(s.values.back());
    }
    states.push_back(declared);
  }
  set_states(graph, std::move(states));
}

// ---- the main graph

namespace {

/// The op that changes a state's variable in place; null if none does.
const Op* change_in_place(const Graph& graph, Tensor* variable) {
  for (const auto& op : graph.ops())
    for (size_t slot = 0; slot < op->inputs.size(); ++slot)
      if (op->inputs[slot] && op->modifies(slot) && is_memory_of(op->inputs[slot], variable)) return op.get();
  return nullptr;
}

void store(Interpreter& in, Graph& main, StateValue& s) {
  if (s.stored == nullptr)
    if (const Op* change = change_in_place(main, s.holder)) {
      Error e("state `" + name_of(*s.holder) + "` is changed in place, and a call also gives its next value",
              {"its next value is made at " + place_text(s.values.back()->origin.span),
               "write one of them: `next` in the build, or the change in place"});
      e.as(codes::in_place);
      e.locate(change->origin.span, change->origin.frames);
      throw e;
    }
  std::vector<Op*> readers;
  for (const auto& op : main.ops())
    if (std::ranges::any_of(op->inputs, [&](Tensor* t) { return t && is_memory_of(t, s.holder); }))
      readers.push_back(op.get());
  const std::shared_ptr<Ir> ir = graphs_of(in).target().ir;
  const Value made = op_by_name(in, "copy_var_update_", tensor_value(ir, s.holder), tensor_value(ir, s.values.back()));
  for (Op* reader : readers) Graph::Sequencing::add_constraint(*as_tensor(made)->producer, *reader);
  s.stored = s.values.back();
}

}  // namespace

void store_states(Interpreter& in, const std::shared_ptr<Ir>& ir) {
  auto& all = graphs_of(in).world().of(ir).states;
  const auto known = all.find(&ir->main());
  if (known == all.end() || ir->frozen) return;
  for (size_t i = 0; i < known->second.size(); ++i) {
    StateValue& s = known->second[i];
    if (s.holder->kind != TensorKind::variable || s.values.size() < 2 || s.stored == s.values.back()) continue;
    const TargetScope target(in, ir, &ir->main());
    stamp(in, *ir);
    store(in, ir->main(), s);
  }
}

// ---- `next`

void set_next(Interpreter& in, const ast::NextStmt& s, Activation& a) {
  BuildState* state = graphs_of(in).world().current();
  const auto fail = [&](const ast::NameExpr& target, std::string message, std::vector<std::string> notes) {
    Error e(std::move(message), std::move(notes));
    e.as(codes::param).locate(target.span, position_of(in).frames);
    throw e;
  };
  const Value value = evaluate(in, *s.value, a);
  if (check_in_progress(in) && holds_unknown(value)) return;
  std::vector<Value> values{value};
  if (s.targets.size() > 1) values = elements_of(in, value);
  if (values.size() != s.targets.size())
    fail(*s.targets.front(),
         fmt::format("`next` names {} states, but there are {} values", s.targets.size(), values.size()), {});
  position_of(in).here = s.span;
  for (size_t i = 0; i < values.size(); ++i) {
    const ast::NameExpr& target = *s.targets[i];
    const auto found = state ? state->states.find(target.name) : decltype(state->states.end()){};
    if (!state || found == state->states.end()) {
      std::vector<std::string> names;
      for (const auto& [name, declared] : state ? state->states : decltype(state->states){}) names.push_back(name);
      const std::string hint = did_you_mean(target.name, names);
      fail(target, "`" + target.name + "` is no state of this build" + (hint.empty() ? "" : "; " + hint),
           {"declare it first: `state " + target.name + ": SPEC = INIT`"});
    }
    StateOfBuild& declared = found->second;
    if (declared.next)
      fail(target, "state `" + target.name + "` gets a second next value in one call",
           {"the first is at " + place_text(declared.next), "a call has one `next` for each state"});
    const TensorSpec& spec = declared.holder->spec;
    Tensor* t = to_operand(in, values[i], spec, "the next value of `" + target.name + "`");
    if (t->graph != graphs_of(in).target().graph)
      fail(target, "the next value of `" + target.name + "`, `" + t->name + "`, belongs to another graph", {});
    if (t->spec != spec)
      fail(target, "state `" + target.name + "` is " + text(spec) + ", but its next value is " + text(t->spec), {});
    GraphTransaction::changing(*graphs_of(in).target().ir);
    declared.next = target.span;
    set_state(in, declared.holder, t);
  }
}

// ---- calls

void set_states(Interpreter& in, const Op& call, const NextStates& next) {
  for (const auto& [output, holder] : next) set_state(in, holder, call.outputs[output]);
}

TreePtr next_tree(const std::shared_ptr<Ir>& ir, const Op& call) {
  TreePtr tree = make_tree(TreeKind::tensors);
  for (const GraphState& s : states_of(*call.called[0]))
    if (s.next) tree->insert(name_of(*s.input), tensor_value(ir, call.outputs[*s.next]), true);
  return tree;
}

TreePtr states_tree(const std::shared_ptr<Ir>& ir, const Graph& graph) {
  TreePtr tree = make_tree(TreeKind::tensors);
  for (const GraphState& s : states_of(graph)) tree->insert(name_of(*s.input), tensor_value(ir, s.input), true);
  return tree;
}

// ---- loops and branches

namespace {

/// Wraps a graph in one that calls it, with inputs and outputs in another order.
class Wrapper {
 public:
  Wrapper(Interpreter& in, const Callable& body)
      : in_(in),
        body_(body),
        scope_(in, body.ir, &body.ir->create_graph(body.graph->title())),
        graph_(*graphs_of(in).target().graph),
        operands_(body.graph->inputs().size()) {
    for (const auto& [input, outer] : facts_of(in, body.ir, body.graph).captured)
      body_.inputs.emplace(input, tensor_value(body.ir, outer));
  }

  Tensor* input(size_t i) {
    const Tensor* of = body_.graph->inputs()[i];
    operands_[i] = graph_.add_input(of->spec, of->name, of->by_ref, of->key);
    return operands_[i];
  }
  Tensor* further_input(const Tensor& like) { return graph_.add_input(like.spec, like.name, false, like.key); }
  /// The tensor to which the body's input is bound; null if it is not bound.
  Tensor* bound(size_t i) const {
    const auto at = body_.inputs.find(body_.graph->inputs()[i]);
    return at == body_.inputs.end() ? nullptr : as_tensor(at->second);
  }
  void bind(const Tensor* input, Value to) { made_.inputs[input] = std::move(to); }
  const std::vector<Tensor*>& call() { return graph_.add_call(*body_.graph, operands_)->outputs; }
  void output(Tensor* t) { graph_.add_output(t); }

  /// Added inputs of the body stay bound to their tensors, except those in `without`.
  Callable finish(const std::vector<Tensor*>& without, size_t shift_from, size_t shift) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      const auto at = body_.inputs.find(body_.graph->inputs()[i]);
      if (at == body_.inputs.end() || std::ranges::find(without, operands_[i]) != without.end()) continue;
      bind(operands_[i], at->second);
    }
    GraphFacts facts = facts_of(in_, body_.ir, body_.graph);
    facts.captured.clear();
    for (GraphFacts::Group& g : facts.groups)
      if (g.first >= shift_from) g.first += shift;
    graphs_of(in_).world().of(body_.ir).graphs[&graph_] = std::move(facts);
    made_.ir = body_.ir;
    made_.graph = &graph_;
    made_.vars = body_.vars;
    return std::move(made_);
  }
  Graph& graph() { return graph_; }
  Tensor* operand(size_t i) const { return operands_[i]; }

 private:
  Interpreter& in_;
  Callable body_, made_;
  TargetScope scope_;
  Graph& graph_;
  std::vector<Tensor*> operands_;  ///< by input of the body: the wrapper's
};

size_t index_of(const Graph& graph, const Tensor* input) {
  return static_cast<size_t>(std::ranges::find(graph.inputs(), input) - graph.inputs().begin());
}

bool writes_states(const Graph& graph) {
  return std::ranges::any_of(states_of(graph), [](const GraphState& s) { return s.next.has_value(); });
}

[[noreturn]] void refuse_unbound(const Graph& graph, const Tensor& state) {
  throw Error("state `" + name_of(state) + "` of " + graph.id() + " is not bound",
              {"`graph.bind(facts.init())` gives states and params their variables"})
      .as(codes::param);
}

}  // namespace

CarriedBody carry_states(Interpreter& in, const Callable& body, size_t carried) {
  const Graph& graph = *body.graph;
  if (!writes_states(graph) || graph.inputs().size() < carried) return {body, {}};  // the loop refuses the latter
  CarriedBody made;
  Wrapper w(in, body);
  std::vector<Tensor*> own;  // inputs of the wrapper
  for (size_t i = 0; i < carried; ++i) w.input(i);
  for (const GraphState& s : states_of(graph)) {
    if (!s.next) continue;
    const size_t i = index_of(graph, s.input);
    if (!w.bound(i)) refuse_unbound(graph, *s.input);
    made.holders.push_back(w.bound(i));
    own.push_back(w.input(i));
  }
  for (size_t i = carried; i < graph.inputs().size(); ++i)
    if (!w.operand(i)) w.input(i);
  const std::vector<Tensor*> outputs = w.call();
  for (size_t j = 0; j < carried && j < result_outputs(graph); ++j) w.output(outputs[j]);
  for (const GraphState& s : states_of(graph))
    if (s.next) w.output(outputs[*s.next]);
  for (size_t j = carried; j < result_outputs(graph); ++j) w.output(outputs[j]);
  std::vector<GraphState> states;
  for (const GraphState& s : states_of(graph))  // those that the body only reads have the value at the loop's beginning
    if (!s.next) states.push_back({w.operand(index_of(graph, s.input)), {}});
  if (result_outputs(graph) <= carried)
    for (size_t j = 0; j < own.size(); ++j) states.push_back({own[j], result_outputs(graph) + j});
  set_states(w.graph(), std::move(states));
  made.body = w.finish(own, carried, own.size());
  return made;
}

Tensor* holder_of(Interpreter& in, const Callable& callable, const Tensor* input) {
  if (const auto at = callable.inputs.find(input); at != callable.inputs.end()) return as_tensor(at->second);
  for (const auto& [captured, outer] : facts_of(in, callable.ir, callable.graph).captured)
    if (captured == input) return outer;
  refuse_unbound(*callable.graph, *input);
}

void join_states(Interpreter& in, Callable& yes, Callable& no) {
  std::vector<Tensor*> written;
  for (const Callable* c : {&yes, &no})
    for (const GraphState& s : states_of(*c->graph))
      if (Tensor* holder = s.next ? holder_of(in, *c, s.input) : nullptr;
          holder && std::ranges::find(written, holder) == written.end())
        written.push_back(holder);
  if (written.empty()) return;
  for (Callable* c : {&yes, &no}) {
    const Graph& graph = *c->graph;
    Wrapper w(in, *c);
    for (size_t i = 0; i < graph.inputs().size(); ++i) w.input(i);
    const std::vector<Tensor*> outputs = w.call();
    for (size_t j = 0; j < result_outputs(graph); ++j) w.output(outputs[j]);
    const std::vector<GraphState> known = states_of(graph);
    std::vector<GraphState> states;
    for (Tensor* holder : written) {
      const auto is_its = [&](const GraphState& s) { return holder_of(in, *c, s.input) == holder; };
      const auto own = std::ranges::find_if(known, is_its);
      Tensor* input = own == known.end() ? w.further_input(*holder) : w.operand(index_of(graph, own->input));
      if (own == known.end()) w.bind(input, tensor_value(c->ir, holder));
      states.push_back({input, result_outputs(graph) + states.size()});
      w.output(own != known.end() && own->next ? outputs[*own->next] : input);
    }
    for (const GraphState& s : states_of(graph))
      if (std::ranges::find(written, holder_of(in, *c, s.input)) == written.end())
        states.push_back({w.operand(index_of(graph, s.input)), {}});
    set_states(w.graph(), std::move(states));
    *c = w.finish({}, 0, 0);
  }
}

Callable with_results(Interpreter& in, const Callable& body, const std::vector<size_t>& order) {
  const Graph& graph = *body.graph;
  Wrapper w(in, body);
  for (size_t i = 0; i < graph.inputs().size(); ++i) w.input(i);
  const std::vector<Tensor*> outputs = w.call();
  for (const size_t j : order) w.output(outputs[j]);
  std::vector<GraphState> states;
  for (const GraphState& s : states_of(graph)) {
    states.push_back({w.operand(index_of(graph, s.input)), {}});
    if (!s.next) continue;
    states.back().next = w.graph().outputs().size();
    w.output(outputs[*s.next]);
  }
  set_states(w.graph(), std::move(states));
  return w.finish({}, 0, 0);
}

Callable frozen_states(Interpreter& in, const Callable& body) {
  const Graph& graph = *body.graph;
  if (!writes_states(graph)) return body;
  Wrapper w(in, body);
  std::vector<GraphState> states;
  for (size_t i = 0; i < graph.inputs().size(); ++i) w.input(i);
  const std::vector<Tensor*> outputs = w.call();
  for (size_t j = 0; j < result_outputs(graph); ++j) w.output(outputs[j]);
  for (const GraphState& s : states_of(graph)) states.push_back({w.operand(index_of(graph, s.input)), {}});
  set_states(w.graph(), std::move(states));
  return w.finish({}, 0, 0);
}

// ---- moments

StateMoment::StateMoment(Interpreter& in) {
  const BuildTarget& target = graphs_of(in).target();
  graph_ = target.graph;
  for (const StateValue& s : values_of(in, target.ir, target.graph)) counts_.emplace_back(s.holder, s.values.size());
}

std::vector<StateValue>* AtMoment::states() const {
  const BuildTarget& target = graphs_of(in_).target();
  return target.graph == moment_.graph_ ? &values_of(in_, target.ir, target.graph) : nullptr;
}

AtMoment::AtMoment(Interpreter& in, const StateMoment& moment) : in_(in), moment_(moment) {
  std::vector<StateValue>* now = states();
  if (!now) return;
  before_ = *now;
  for (StateValue& s : *now) {
    const auto then = std::ranges::find(moment.counts_, s.holder, &std::pair<const Tensor*, size_t>::first);
    s.values.resize(then == moment.counts_.end() ? 1 : then->second);
  }
}

AtMoment::~AtMoment() {
  std::vector<StateValue>* now = states();
  if (!now) return;
  for (StateValue& s : *now) {
    const StateValue* then = find(before_, s.holder);
    if (then)
      s.values = then->values;
    else
      s.values.resize(1);
  }
}

}  // namespace pxl
