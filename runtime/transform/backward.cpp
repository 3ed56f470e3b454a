// Connects gradient graphs to call sites: binds each input of a gradient graph to a caller's tensor, and the complete
// backward step.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/read_order.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"

namespace pxl {

namespace {

std::string called_text(const Op& op) {
  return op.called.empty() ? "no graph" : fmt::format("`{}`", shown_name(*op.called[0]));
}

void check_calls(const Op& call, const Graph& graph, std::string_view what) {
  if (call.row->role == Role::call && call.called[0] == &graph) return;
  throw Error(fmt::format("{}: the call site `{}` calls {}, not `{}`", what, shown_name(call), called_text(call),
                          shown_name(graph)),
              {"give the call site that call_with_info returned for this graph"})
      .as(codes::gradient);
}

/// Maps tensors of the called graph to the caller's at a call site: inputs, and outputs that are not inputs.
class Parents {
 public:
  explicit Parents(const Op& call) : callee_(*call.called[0]) {
    for (size_t i = 0; i < callee_.inputs().size(); ++i) parent_.emplace(callee_.inputs()[i], call.inputs[i]);
    for (size_t j = 0; j < callee_.outputs().size(); ++j) parent_.emplace(callee_.outputs()[j], call.outputs[j]);
  }
  Tensor* of(const Tensor* inner) const {
    const auto found = parent_.find(inner);
    if (found != parent_.end()) return found->second;
    throw Error(fmt::format("`{}` is neither an input nor an output of `{}`", shown_name(*inner), shown_name(callee_)),
                {}, Fault::internal);
  }

 private:
  const Graph& callee_;
  std::unordered_map<const Tensor*, Tensor*> parent_;
};

/// A gradient graph, and the forward calls for which `inputs_dict` was asked. Values of an Ir's memo are never
/// modified, but replaced: marks keep the old ones.
struct KnownGradient {
  GradGraphInfoPtr info;
  std::vector<const Op*> asked;
};
using KnownGradients = std::map<const Graph*, KnownGradient>;

const KnownGradient* known_gradient(const Graph& graph) {
  const auto& memo = graph.ir().memo;
  const auto known = memo.find("gradient_graphs");
  if (known == memo.end()) return nullptr;
  const auto& graphs = *std::static_pointer_cast<const KnownGradients>(known->second);
  const auto found = graphs.find(&graph);
  return found == graphs.end() ? nullptr : &found->second;
}

void remember(const Graph& graph, KnownGradient gradient) {
  auto& slot = graph.ir().memo["gradient_graphs"];
  const auto before = std::static_pointer_cast<const KnownGradients>(slot);
  auto after = before ? std::make_shared<KnownGradients>(*before) : std::make_shared<KnownGradients>();
  (*after)[&graph] = std::move(gradient);
  slot = after;
}

/// A loss of which `gradients_within` made gradients, and for what.
struct Differentiated {
  Tensor* loss;
  std::vector<Tensor*> wanted;
};
using Losses = std::vector<Differentiated>;

std::shared_ptr<const Losses> losses_of(const Ir& ir) {
  const auto found = ir.memo.find("losses");
  return found == ir.memo.end() ? std::make_shared<const Losses>()
                                : std::static_pointer_cast<const Losses>(found->second);
}

void remember_loss(Tensor& loss, const std::vector<Tensor*>& wanted) {
  Ir& ir = loss.graph->ir();
  const auto after = std::make_shared<Losses>(*losses_of(ir));
  after->push_back({&loss, wanted});
  ir.memo["losses"] = after;
}

/// The operands of a gradient graph's call that represent forward values.
std::vector<size_t> forward_slots(const GradGraphInfo& info) {
  std::vector<size_t> slots;
  for (size_t i = 0; i < info.expected_inputs.size(); ++i)
    if (info.expected_inputs[i].type == ConnectionType::fwd) slots.push_back(i);
  return slots;
}

/// The calls of the forward graph that fit a gradient call's operands: only those for which `inputs_dict` was asked, if
/// there are any.
std::vector<Op*> forward_calls(const KnownGradient& known, const Op& gradient) {
  const GradGraphInfo& info = *known.info;
  const std::vector<size_t> slots = forward_slots(info);
  std::vector<Op*> fitting, asked;
  for (Op* call : info.forward_graph->call_sites()) {
    if (call->graph != gradient.graph || call->row->role != Role::call) continue;
    const Parents parents(*call);
    const auto fits = [&](size_t i) { return parents.of(info.expected_inputs[i].fwd_tensor) == gradient.inputs[i]; };
    if (!std::all_of(slots.begin(), slots.end(), fits)) continue;
    fitting.push_back(call);
    if (std::find(known.asked.begin(), known.asked.end(), call) != known.asked.end()) asked.push_back(call);
  }
  return asked.empty() ? fitting : asked;
}

Tensor* sum_of(Graph& graph, const std::vector<Tensor*>& terms) {
  GraphOpBuilder builder(graph);
  Expr total = builder.of(terms.at(0));
  for (size_t i = 1; i < terms.size(); ++i) total = total + builder.of(terms[i]);
  return total.tensor();
}

/// Calls the gradient graph of a call, for inputs of the called graph. Does not sum the gradients of one tensor.
Backward call_gradient_graph(Op& fwd_call, const std::vector<Tensor*>& output_grads,
                             const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
  Graph& callee = *fwd_call.called[0];
  Graph& parent = *fwd_call.graph;
  Backward result;
  result.info = autodiff(callee, provided, required);
  const Parents parents(fwd_call);  // stashed outputs included
  std::vector<Tensor*> inputs;
  for (const ExpectedConnection& c : result.info->expected_inputs) {
    if (c.type == ConnectionType::fwd) {
      inputs.push_back(parents.of(c.fwd_tensor));
      continue;
    }
    std::vector<Tensor*> terms;  // several if the callee returns the tensor twice
    for (size_t i = 0; i < output_grads.size(); ++i)
      if (output_grads[i] && callee.outputs()[i] == c.fwd_tensor) terms.push_back(output_grads[i]);
    inputs.push_back(sum_of(parent, terms));
  }
  const auto mark = is_memory_changed_after(fwd_call) ? parent.ir().mark() : nullptr;
  result.call = parent.add_call(*result.info->graph, std::move(inputs));
  if (mark) {
    try {
      read_as_of(fwd_call, *result.call, forward_slots(*result.info), "backward");
    } catch (...) {
      parent.ir().rollback(*mark);
      throw;
    }
  }
  return result;
}

/// The outputs of the called graph that gradients are given for. Throws for gradients that do not fit.
std::vector<Tensor*> provided_outputs(const Op& fwd_call, const std::vector<Tensor*>& output_grads) {
  if (fwd_call.row->role != Role::call)
    throw Error(fmt::format("backward: {}.{} is not a call of a graph", fwd_call.row->schedule, fwd_call.id),
                {"put it into a graph, call that, and take the backward step of the call"})
        .as(codes::gradient);
  const Graph& callee = *fwd_call.called[0];
  if (output_grads.size() > callee.declared_outputs())
    throw Error(fmt::format("backward: {} gradients were given, but `{}` has {} outputs", output_grads.size(),
                            shown_name(callee), callee.declared_outputs()))
        .as(codes::gradient);
  std::vector<Tensor*> provided;
  for (size_t i = 0; i < output_grads.size(); ++i) {
    if (!output_grads[i]) continue;
    const Tensor* out = callee.outputs()[i];
    const TensorSpec &given = output_grads[i]->spec, &expected = out->spec;
    if (!is_floating(expected.dtype))
      throw Error(fmt::format("backward: output {} of `{}` is {}, which has no gradient", i, shown_name(callee),
                              text(expected)))
          .as(codes::gradient);
    if (given.shape != expected.shape || given.dtype != expected.dtype)
      throw Error(fmt::format("backward: the gradient of output {} of `{}` must be {}, but `{}` is {}", i,
                              shown_name(callee), text(expected), output_grads[i]->name, text(given)))
          .as(codes::gradient);
    provided.push_back(callee.outputs()[i]);
  }
  provided = floating_once(provided);
  if (provided.empty())
    throw Error(fmt::format("backward: no gradient was given for an output of `{}`", shown_name(callee)))
        .as(codes::gradient);
  return provided;
}

}  // namespace

void remember_gradient_graph(const GradGraphInfoPtr& info) { remember(*info->graph, {info, {}}); }

void order_gradient_call(Op& call) {
  if (call.row->role != Role::call) return;
  const KnownGradient* known = known_gradient(*call.called[0]);
  if (!known) return;
  const GradGraphInfo& info = *known->info;
  const std::vector<Op*> calls = forward_calls(*known, call);
  if (calls.empty() || !is_memory_changed_after(*calls.front())) return;
  if (calls.size() > 1 && is_read_changed(*calls.front(), *calls.back(), call, forward_slots(info)))
    throw Error(fmt::format("`{}` is called with the same operands several times, and what it reads is changed in "
                            "between: it is unclear of which call this is the gradient",
                            info.forward_graph->id()),
                {"`info.backward(...)`, of what `call_with_info` returned, is of that call"})
        .as(codes::in_place_order);
  read_as_of(*calls.back(), call, forward_slots(info), "gradient");
}

std::map<Tensor*, Tensor*> GradGraphInfo::inputs_dict(const Op& fwd_call) const {
  check_calls(fwd_call, *forward_graph, "inputs_dict");
  if (const KnownGradient* known = known_gradient(*graph)) {
    KnownGradient now = *known;
    now.asked.push_back(&fwd_call);
    remember(*graph, std::move(now));
  }
  const Parents parents(fwd_call);
  std::map<Tensor*, Tensor*> found;
  for (size_t i = 0; i < expected_inputs.size(); ++i)
    if (expected_inputs[i].type == ConnectionType::fwd)
      found.emplace(graph->inputs()[i], parents.of(expected_inputs[i].fwd_tensor));
  return found;
}

std::vector<std::pair<Tensor*, Tensor*>> GradGraphInfo::fwd_parent_ins_to_grad_parent_outs(const Op& fwd_call,
                                                                                           const Op& grad_call) const {
  check_calls(fwd_call, *forward_graph, "fwd_parent_ins_to_grad_parent_outs");
  check_calls(grad_call, *graph, "fwd_parent_ins_to_grad_parent_outs");
  std::vector<std::pair<Tensor*, Tensor*>> found;
  for (size_t i = 0; i < expected_outputs.size(); ++i) {
    const size_t slot = index_in(forward_graph->inputs(), expected_outputs[i].fwd_tensor);
    if (slot == forward_graph->inputs().size()) continue;  // gradient of an activation
    Tensor* parent = fwd_call.inputs.at(slot);
    const auto same = std::find_if(found.begin(), found.end(), [&](const auto& p) { return p.first == parent; });
    if (same == found.end())
      found.emplace_back(parent, grad_call.outputs.at(i));
    else
      same->second = grad_call.outputs.at(i);
  }
  return found;
}

Backward backward(Op& fwd_call, const std::vector<Tensor*>& output_grads, const std::vector<Tensor*>& wanted) {
  const std::vector<Tensor*> provided = provided_outputs(fwd_call, output_grads);
  Graph& callee = *fwd_call.called[0];
  if (wanted.empty())
    throw Error("backward: no tensor is wanted", {"name the tensors given to the call whose gradients are needed"})
        .as(codes::gradient);

  const TensorSet before = inputs_before(callee, provided);
  TensorSet needed;
  std::unordered_map<const Tensor*, std::vector<size_t>> slots;  // a tensor may be passed several times
  for (size_t slot = 0; slot < fwd_call.inputs.size(); ++slot) slots[fwd_call.inputs[slot]].push_back(slot);
  for (const Tensor* t : wanted) {
    const auto given = slots.find(t);
    bool connected = false;
    for (size_t slot : given == slots.end() ? std::vector<size_t>{} : given->second) {
      const Tensor* inner = callee.inputs()[slot];
      if (!is_floating(inner->spec.dtype) || !before.count(inner)) continue;
      connected = true;
      needed.insert(inner);
    }
    if (given == slots.end())
      throw Error(fmt::format("backward: `{}` was not given to this call of `{}`, so it has no gradient here",
                              shown_name(*t), shown_name(callee)))
          .as(codes::gradient);
    if (!connected)
      throw Error(fmt::format("backward: cannot provide a gradient for `{}`: no differentiable path leads from it to "
                              "the outputs of `{}`",
                              shown_name(*t), shown_name(callee)),
                  lost_gradient(*callee.inputs()[given->second.front()], TensorSet(provided.begin(), provided.end()),
                                "ask for the gradients of other tensors only"))
          .as(codes::gradient);
  }
  std::vector<Tensor*> required;
  for (Tensor* t : callee.inputs())
    if (needed.count(t)) required.push_back(t);
  Backward result = call_gradient_graph(fwd_call, output_grads, provided, required);
  const Parents parents(fwd_call);
  std::unordered_map<const Tensor*, std::vector<Tensor*>> gradients;
  for (size_t i = 0; i < result.info->expected_outputs.size(); ++i)
    gradients[parents.of(result.info->expected_outputs[i].fwd_tensor)].push_back(result.call->outputs.at(i));
  for (const Tensor* t : wanted) result.gradients.push_back(sum_of(*fwd_call.graph, gradients.at(t)));
  return result;
}

Backward backward_by_slot(Op& fwd_call, const std::vector<Tensor*>& output_grads, const std::vector<size_t>& slots) {
  const std::vector<Tensor*> provided = provided_outputs(fwd_call, output_grads);
  const Graph& callee = *fwd_call.called[0];
  std::vector<Tensor*> required;
  for (size_t i = 0; i < callee.inputs().size(); ++i)
    if (std::find(slots.begin(), slots.end(), i) != slots.end()) required.push_back(callee.inputs()[i]);
  Backward result = call_gradient_graph(fwd_call, output_grads, provided, required);
  for (size_t slot : slots) {
    const auto& outputs = result.info->expected_outputs;
    const auto at = std::find_if(outputs.begin(), outputs.end(),
                                 [&](const ExpectedConnection& c) { return c.fwd_tensor == callee.inputs()[slot]; });
    result.gradients.push_back(result.call->outputs.at(static_cast<size_t>(at - outputs.begin())));
  }
  return result;
}

namespace {

/// Finds which op read each forward tensor that a gradient's call reads in its own graph: the last op that uses the
/// tensor and that the gradient is of. Throws if one of these ops found another value.
std::vector<Reading> readings_of(const GradGraphInfo& info, const Op& call, const std::vector<const Op*>& visited) {
  std::vector<Reading> readings;
  for (size_t slot : forward_slots(info)) {
    const Tensor* t = info.expected_inputs[slot].fwd_tensor;
    const Op *first = nullptr, *last = nullptr;  // `visited` is from the last op to the first
    for (const Op* op : visited) {
      if (op != t->producer && std::find(op->inputs.begin(), op->inputs.end(), t) == op->inputs.end()) continue;
      if (!last) last = op;
      first = op;
    }
    if (!last) continue;
    if (first != last && is_memory_changed_after(*first) && is_read_changed(*first, *last, call, {slot}))
      throw Error(fmt::format("grad: `{}` is changed between two ops that the gradient is of", shown_name(*t)),
                  {"the gradient reads one value of it: take it before the change"})
          .as(codes::in_place_order);
    readings.push_back({slot, const_cast<Op*>(last)});
  }
  return readings;
}

}  // namespace

bool has_gradients(const Ir& ir) { return ir.memo.contains("losses") || ir.memo.contains("gradient_graphs"); }

std::vector<const Tensor*> variables_without_gradient(const Ir& ir) {
  TensorSet given, before;
  const auto losses = losses_of(ir);
  for (const Differentiated& d : *losses) {
    given.insert(d.wanted.begin(), d.wanted.end());
    before.merge(tensors_before(*d.loss->graph, {d.loss}));
  }
  std::vector<const Tensor*> found;
  for (const Tensor* v : ir.variables())
    if (before.count(v) && !given.count(v)) found.push_back(v);
  return found;
}

Backward gradients_within(Tensor& loss, Tensor& loss_gradient, const std::vector<Tensor*>& wanted) {
  Graph& graph = *loss.graph;
  return all_or_nothing(graph.ir(), [&] {
    Backward result;
    const GradInfos none;
    Differentiator within(graph, {&loss}, wanted, none);
    result.info = within.run_within();
    std::vector<Tensor*> inputs;
    for (const ExpectedConnection& c : result.info->expected_inputs)
      inputs.push_back(c.type == ConnectionType::fwd ? c.fwd_tensor : &loss_gradient);
    result.call = graph.add_call(*result.info->graph, std::move(inputs));
    remember_loss(loss, wanted);
    read_as_of(readings_of(*result.info, *result.call, within.visited()), *result.call, "grad");
    for (Tensor* t : wanted) {
      const auto& outputs = result.info->expected_outputs;
      const auto at =
          std::find_if(outputs.begin(), outputs.end(), [&](const ExpectedConnection& c) { return c.fwd_tensor == t; });
      result.gradients.push_back(at == outputs.end() ? nullptr
                                                     : result.call->outputs[static_cast<size_t>(at - outputs.begin())]);
    }
    return result;
  });
}

}  // namespace pxl
