// Reverse-mode differentiation of a graph. Visits the forward ops in reverse; each row's gradient adds the gradient
// ops; contributions to a tensor's gradient are summed when its producer is reached. Dead code is eliminated at the
// end; only then do the forward values that are still used become outputs of the forward graph.
#include "runtime/transform/autodiff.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/graph/states.hpp"
#include "runtime/transform/functions/own_rules.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/transaction.hpp"
#include "runtime/graph/verify.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/ops/stop_gradient.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {

namespace {

constexpr std::string_view gradient_prefix = "Gradient___";

/// "fc1/weight" becomes "fc1/Gradient___weight".
std::string gradient_name(const Tensor& forward) {
  std::string name = forward.name;
  const size_t slash = name.rfind('/');
  return name.insert(slash == std::string::npos ? 0 : slash + 1, gradient_prefix);
}

std::string place(const Origin& origin) {
  if (!origin.span) return {};
  const Position at = origin.span.file->position(origin.span.begin);
  return fmt::format(" at {}:{}:{}", origin.span.file->name(), at.line, at.column);
}

[[noreturn]] void refuse(const Op& op, std::string message, std::vector<std::string> notes) {
  Diagnostic d;
  d.message = std::move(message);
  d.span = op.origin.span;
  d.frames = op.origin.frames;
  d.notes = std::move(notes);
  throw Error(std::move(d)).as(codes::gradient);
}

using Memo = std::map<std::string, GradGraphInfoPtr>;

std::string memo_key(const Graph& graph, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required) {
  std::string key = graph.id();
  for (const Tensor* t : provided) key += "\n>" + t->id;
  for (const Tensor* t : required) key += "\n<" + t->id;
  return key;
}

void check_strict(const GradGraphInfo& info, const std::vector<Tensor*>& provided,
                  const std::vector<Tensor*>& required) {
  if (info.expected_outputs.size() == required.size()) return;
  const TensorSet wanted(provided.begin(), provided.end());
  for (const Tensor* t : required) {
    const auto has = [&](const ExpectedConnection& c) { return c.fwd_tensor == t; };
    if (std::any_of(info.expected_outputs.begin(), info.expected_outputs.end(), has)) continue;
    throw Error(fmt::format("autodiff: cannot provide a gradient for `{}`: no differentiable path leads from it to {}",
                            shown_name(*t),
                            provided.size() == 1 ? fmt::format("`{}`", shown_name(*provided[0])) : "the outputs"),
                lost_gradient(*t, wanted, "leave it out of grads_required"))
        .as(codes::gradient);
  }
}

void check_members(const Graph& graph, std::string_view list, const std::vector<Tensor*>& tensors) {
  for (const Tensor* t : tensors)
    if (!graph.contains(t))
      throw Error(fmt::format("autodiff: `{}` in {} is not a tensor of the graph `{}`", t->id, list, shown_name(graph)))
          .as(codes::gradient);
}

}  // namespace

void check_nothing_modified(const Op& op) {
  if (op.row->role == Role::host_load) return;  // fills memory that no other op uses
  for (size_t slot = 0; slot < op.inputs.size(); ++slot)
    if (op.inputs[slot] && op.modifies(slot))
      refuse(op,
             fmt::format("the graph `{}` contains a modifying op: `{}` changes `{}` in place, so it has no gradient",
                         op.graph->is_main() ? op.graph->ir().name() : shown_name(*op.graph), shown_name(op),
                         shown_name(*op.inputs[slot])),
             {"use the form that gives a new tensor, or differentiate a graph without the update"});
}

void refuse_derivative(const Op& op) {
  refuse(op,
         fmt::format("`{}` has no gradient, but the gradient of `{}` flows through it to `{}`", op.row->name,
                     op.outputs.at(0)->name, op.inputs.at(0) ? op.inputs[0]->name : "its operand"),
         {"use detach where the gradient may stop, leave such inputs out of grads_required, or write it in a "
          "build_grad"});
}

std::vector<std::string> lost_gradient(const Tensor& tensor, const TensorSet& provided, std::string remedy) {
  if (!is_floating(tensor.spec.dtype))
    return {fmt::format("it is {}: only floating tensors have gradients", text(tensor.spec))};
  std::vector<std::string> notes;
  TensorSet seen{&tensor};
  std::vector<const Tensor*> open{&tensor};
  while (!open.empty() && notes.size() < 3) {
    const Tensor* t = open.back();
    open.pop_back();
    if (t->consumers.empty() && !provided.count(t) && t != &tensor)
      notes.push_back(fmt::format("`{}` is not used by an output with a gradient", t->name));
    for (const Op* op : t->consumers) {
      bool goes_on = false;
      for (const Tensor* y : op->outputs) {
        if (!is_floating(y->spec.dtype)) continue;
        goes_on = true;
        if (seen.insert(y).second) open.push_back(y);
      }
      const bool stops = !op->outputs.empty() && (!goes_on || op->row->gradient == stop_gradient);
      if (stops) notes.push_back(fmt::format("the path stops at `{}`{}", shown_name(*op), place(op->origin)));
    }
  }
  if (tensor.consumers.empty()) notes.push_back("no op uses it");
  notes.push_back(std::move(remedy));
  return notes;
}

std::vector<std::string> notes_on_lost_gradient(const Tensor& tensor, const Tensor& loss, std::string remedy) {
  return lost_gradient(tensor, {&loss}, std::move(remedy));
}

Differentiator::Differentiator(Graph& forward, const std::vector<Tensor*>& provided,
                               const std::vector<Tensor*>& required, const GradInfos& called)
    : forward_(forward),
      provided_(provided),
      required_(required),
      called_(called),
      reachable_(tensors_after(forward, required)),
      graph_(forward.ir().create_gradient_graph(forward)),
      builder_(graph_) {}

Expr Differentiator::forward_value(Tensor* tensor) {
  auto [at, fresh] = values_.emplace(tensor, nullptr);
  if (fresh)
    at->second = tensor->kind == TensorKind::constant ? graph_.add_constant(tensor->data, tensor->name)
                                                      : graph_.add_input(tensor->spec, tensor->name);
  return builder_.of(at->second);
}

Expr Differentiator::in(size_t slot) { return forward_value(op_->inputs.at(slot)); }
Expr Differentiator::out(size_t index) { return forward_value(op_->outputs.at(index)); }

Expr Differentiator::dy(size_t index) {
  Tensor* t = gradient(op_->outputs.at(index));
  return t ? builder_.of(t) : Expr();
}

bool Differentiator::wants(size_t slot) const {
  const Tensor* t = slot < op_->inputs.size() ? op_->inputs[slot] : nullptr;
  return t && (is_floating(t->spec.dtype) || is_float8(t->spec.dtype)) && reachable_.count(t) > 0;
}

void Differentiator::set(size_t slot, Expr gradient) {
  if (!gradient || !wants(slot)) return;
  const Tensor* t = op_->inputs[slot];
  if (gradient.spec() != t->spec)
    throw Error(fmt::format("the gradient of {} gives {} for input {}, which is {}", op_->row->name,
                            text(gradient.spec()), slot, text(t->spec)),
                {}, Fault::internal);
  contributions_[t].push_back(gradient.tensor());
}

Tensor* Differentiator::sum(const std::vector<Tensor*>& terms) {
  if (terms.size() < 2) return terms.empty() ? nullptr : terms[0];
  if (terms.size() > 2 && find_op("sum_n")) {
    std::vector<Expr> operands;
    for (Tensor* t : terms) operands.push_back(builder_.of(t));
    return builder_.one("sum_n", {OpArg(std::move(operands))}).tensor();
  }
  Expr total = builder_.of(terms[0]);
  for (size_t i = 1; i < terms.size(); ++i) total = total + builder_.of(terms[i]);
  return total.tensor();
}

Tensor* Differentiator::zeros(const TensorSpec& spec) {
  const TensorSpec whole = whole_spec(spec);
  Tensor* zero = graph_.add_constant(Array::zeros(whole.dtype, whole.shape), "zeros");
  if (!spec.is_shard()) return zero;
  return builder_.one("replica_sharded_slice", {builder_.of(zero)}, {{"group", spec.shard_groups}}).tensor();
}

Tensor* Differentiator::gradient(Tensor* forward) {
  if (const auto found = gradients_.find(forward); found != gradients_.end()) return found->second;
  const auto terms = contributions_.find(forward);
  Tensor* total = terms == contributions_.end() ? nullptr : sum(terms->second);
  gradients_.emplace(forward, total);
  // Named after the first forward tensor that it is the gradient of.
  if (total && total->producer && named_.insert(total).second) {
    const std::string name = gradient_name(*forward);
    if (total->name != name) graph_.rename(total, name);
  }
  return total;
}

void Differentiator::visit(const Op& op) {
  const auto has_gradient = [&](const Tensor* t) { return contributions_.count(t) > 0; };
  if (std::none_of(op.outputs.begin(), op.outputs.end(), has_gradient)) return;
  op_ = &op;
  bool wanted = false;
  for (size_t slot = 0; slot < op.inputs.size(); ++slot) wanted = wanted || wants(slot);
  if (!wanted) return;
  check_nothing_modified(op);
  visited_.push_back(&op);
  Ir& ir = forward_.ir();
  place_like(ir, op);
  if (!op.called.empty())
    differentiate_call();
  else if (op.row->gradient)
    op.row->gradient(*this);
  else
    refuse_derivative(op);
}

GradGraphInfoPtr Differentiator::run() {
  for (const auto& op : forward_.ops()) check_nothing_modified(*op);
  run_backwards();
  return finish(false);
}

GradGraphInfoPtr Differentiator::run_within() {
  run_backwards();
  return finish(true);
}

void Differentiator::run_backwards() {
  const BuildStateGuard guard(forward_.ir());
  for (Tensor* t : provided_) {
    Tensor* given = graph_.add_input(t->spec, gradient_name(*t));
    contributions_[t].push_back(given);
  }
  // Autodiff of a callee adds outputs to forward ops but no ops, so the iteration is stable.
  for (auto it = forward_.ops().rbegin(); it != forward_.ops().rend(); ++it) visit(**it);
}

GradGraphInfoPtr Differentiator::finish(bool within) {
  const BuildStateGuard guard(forward_.ir());
  std::vector<std::pair<Tensor*, Tensor*>> gradients;
  for (Tensor* t : required_)
    if (Tensor* g = gradient(t)) gradients.emplace_back(t, g);
  return finish_gradient_graph(forward_, graph_, provided_, gradients, values_, within);
}

GradGraphInfoPtr finish_gradient_graph(Graph& forward, Graph& made, const std::vector<Tensor*>& provided,
                                       const std::vector<std::pair<Tensor*, Tensor*>>& gradients,
                                       const std::unordered_map<Tensor*, Tensor*>& values, bool within) {
  auto info = std::make_shared<GradGraphInfo>();
  info->graph = &made;
  info->forward_graph = &forward;
  for (const auto& [tensor, gradient] : gradients) {
    made.add_output(gradient);
    info->expected_outputs.push_back({ConnectionType::fwd_grad, tensor});
  }
  made.prune(provided.size());

  const TensorSet kept(made.inputs().begin(), made.inputs().end());
  std::map<std::string_view, Tensor*> used;  // forward tensors by id
  for (const auto& [tensor, value] : values)
    if (kept.count(value)) used.emplace(tensor->id, tensor);
  std::vector<Tensor*> inputs(made.inputs().begin(),
                              made.inputs().begin() + static_cast<std::ptrdiff_t>(provided.size()));
  for (Tensor* t : provided) info->expected_inputs.push_back({ConnectionType::fwd_grad, t});
  const TensorSet given(forward.inputs().begin(), forward.inputs().end());
  std::vector<Tensor*> stashed;
  for (const auto& [id, tensor] : used) {
    inputs.push_back(values.at(tensor));
    info->expected_inputs.push_back({ConnectionType::fwd, tensor});
    if (!given.count(tensor)) stashed.push_back(tensor);
  }
  if (!within) forward.add_stashed_outputs(stashed);
  made.set_inputs(std::move(inputs));
  remember_gradient_graph(info);
  verify_transformed(made.ir());
  return info;
}

namespace {

struct CustomEntry {
  CustomGradient gradient;
  bool is_path = false;
};
constexpr const char* custom_gradients = "custom_gradients";

CustomEntry custom_gradient(const Graph& graph) { return own_rule<CustomEntry>(graph, custom_gradients); }

}  // namespace

bool has_custom_gradient(const Graph& graph) { return custom_gradient(graph).gradient != nullptr; }

bool is_custom_path(const Graph& graph) { return custom_gradient(graph).is_path; }

void set_custom_gradient(Graph& graph, CustomGradient gradient, bool is_path) {
  set_own_rule(graph, custom_gradients, CustomEntry{std::move(gradient), is_path});
}

GradGraphInfoPtr differentiate(Graph& graph, const std::vector<Tensor*>& provided, const std::vector<Tensor*>& required,
                               const GradInfos& called, bool strict, bool own) {
  Ir& ir = graph.ir();
  const std::string key = memo_key(graph, provided, required);
  auto& slot = ir.memo["autodiff"];  // stable address: std::map does not move its nodes
  if (const auto memo = std::static_pointer_cast<const Memo>(slot); memo && called.empty() && !own)
    if (const auto found = memo->find(key); found != memo->end()) {
      if (strict) check_strict(*found->second, provided, required);
      return found->second;
    }
  const CustomGradient custom = custom_gradient(graph).gradient;
  const GradGraphInfoPtr info =
      custom ? custom(graph, provided, required) : Differentiator(graph, provided, required, called).run();
  if (strict) check_strict(*info, provided, required);
  if (called.empty() && !own) {
    // A new map each time: marks keep the old one, so that rollback also removes gradient graphs.
    const auto before = std::static_pointer_cast<const Memo>(slot);
    auto after = before ? std::make_shared<Memo>(*before) : std::make_shared<Memo>();
    after->emplace(key, info);
    slot = after;
  }
  return info;
}

GradGraphInfoPtr autodiff(Graph& graph, std::optional<std::vector<Tensor*>> grads_provided,
                          std::optional<std::vector<Tensor*>> grads_required,
                          const std::map<Graph*, GradGraphInfoPtr>& called_graphs_grad_info, bool own) {
  if (graph.is_main())
    throw Error("autodiff: the main graph cannot be differentiated",
                {"put the computation into a graph (a module's create_graph) and differentiate that"})
        .as(codes::gradient);
  if (graph.ir().frozen)
    throw Error(fmt::format("autodiff: the program `{}` is owned by a session: nothing more can be added to it",
                            graph.ir().name()),
                {"call autodiff before Session(...)"})
        .as(codes::complete);
  std::vector<Tensor*> provided;
  if (grads_provided) {
    check_members(graph, "grads_provided", *grads_provided);
    for (const Tensor* t : *grads_provided)
      if (!is_floating(t->spec.dtype))
        throw Error(fmt::format("autodiff: `{}` in grads_provided is {}: only floating tensors have gradients",
                                shown_name(*t), text(t->spec)))
            .as(codes::gradient);
    provided = floating_once(*grads_provided);
  } else {
    provided = floating_once(
        {graph.outputs().begin(), graph.outputs().begin() + static_cast<std::ptrdiff_t>(result_outputs(graph))});
  }
  if (provided.empty())
    throw Error(fmt::format("autodiff: the graph `{}` has no output that can have a gradient", shown_name(graph)),
                {"return a floating tensor, or name tensors in grads_provided"})
        .as(codes::gradient);
  std::vector<Tensor*> required;
  if (grads_required) {
    check_members(graph, "grads_required", *grads_required);
    TensorSet seen;
    for (Tensor* t : *grads_required)
      if (seen.insert(t).second) required.push_back(t);
  } else {
    required = differentiable_inputs(graph, provided);
  }
  if (required.empty())
    throw Error(fmt::format("autodiff: no input of the graph `{}` can have a gradient", shown_name(graph)),
                {"a gradient needs a floating input from which differentiable ops lead to an output"})
        .as(codes::gradient);

  return all_or_nothing(graph.ir(), [&] {
    return differentiate(graph, provided, required, called_graphs_grad_info, grads_required.has_value(), own);
  });
}

std::vector<Tensor*> inputs_with_gradient(Graph& graph) {
  if (!is_custom_path(graph)) return differentiable_inputs(graph);
  std::vector<Tensor*> found;
  for (const ExpectedConnection& c : autodiff(graph)->expected_outputs) found.push_back(c.fwd_tensor);
  return found;
}

}  // namespace pxl
