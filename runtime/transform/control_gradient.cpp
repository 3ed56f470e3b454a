// Gradients of ops that call graphs. The gradient of a call is a call of the callee's gradient graph. Iterations
// (loop_gradient.cpp) and branches keep no activations, so their gradients recompute the forward pass.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/recompute.hpp"

namespace pxl {

void check_repeatable(const Op& op) {
  for (const Graph* callee : op.called) {
    if (!uses_streams(*callee)) continue;
    Diagnostic d;
    d.message = fmt::format(
        "`{}` has no gradient here: the graph `{}` loads from or stores to a stream, and the "
        "gradient would do so again",
        op.row->name, callee->id());
    d.notes = {"move the streams out of the graph"};
    d.span = op.origin.span;
    d.frames = op.origin.frames;
    throw Error(std::move(d)).as(codes::gradient);
  }
}

void Differentiator::differentiate_call() {
  switch (op_->row->role) {
    case Role::call: return gradient_of_call();
    case Role::loop: return gradient_of_loop();
    case Role::branch: return gradient_of_branch();
    default: throw Error(fmt::format("{}: calls no graph", op_->row->name), {}, Fault::internal);
  }
}

GradGraphInfoPtr Differentiator::info_of(Graph& callee, const std::vector<Tensor*>& provided,
                                         const std::vector<Tensor*>& required) {
  if (const auto given = called_.find(&callee); given != called_.end()) return given->second;
  return differentiate(callee, provided, required, called_, false);
}

std::vector<Tensor*> Differentiator::all_inputs(size_t first, size_t count) {
  std::vector<Tensor*> found;
  for (size_t i = 0; i < count; ++i) found.push_back(in(first + i).tensor());
  return found;
}

std::vector<Tensor*> Differentiator::call_gradient(const GradGraphInfo& info, const std::vector<Tensor*>& inputs,
                                                   const std::vector<Tensor*>& outputs,
                                                   const std::vector<Tensor*>& output_grads) {
  const Graph& callee = *info.forward_graph;
  std::vector<Tensor*> given;
  for (const ExpectedConnection& c : info.expected_inputs) {
    if (c.type == ConnectionType::fwd) {
      const size_t i = index_in(callee.inputs(), c.fwd_tensor);
      given.push_back(i < callee.inputs().size() ? inputs.at(i) : outputs.at(index_in(callee.outputs(), c.fwd_tensor)));
      continue;
    }
    std::vector<Tensor*> terms;  // several if the callee returns the tensor twice
    for (size_t i = 0; i < output_grads.size(); ++i)
      if (output_grads[i] && callee.outputs()[i] == c.fwd_tensor) terms.push_back(output_grads[i]);
    given.push_back(terms.empty() ? zeros(c.fwd_tensor->spec) : sum(terms));
  }
  const Op* call = graph_.add_call(*info.graph, given);
  std::vector<Tensor*> gradients(callee.inputs().size(), nullptr);
  for (size_t k = 0; k < info.expected_outputs.size(); ++k) {
    const size_t i = index_in(callee.inputs(), info.expected_outputs[k].fwd_tensor);
    if (i < gradients.size()) gradients[i] = call->outputs.at(k);
  }
  return gradients;
}

void Differentiator::gradient_of_call() {
  Graph& callee = *op_->called[0];
  std::vector<Tensor*> provided, required, output_grads;
  for (size_t i = 0; i < op_->outputs.size(); ++i) {
    Tensor* g = gradient(op_->outputs[i]);
    output_grads.push_back(g);
    if (g) provided.push_back(callee.outputs()[i]);
  }
  provided = floating_once(provided);
  const TensorSet before = inputs_before(callee, provided);
  for (size_t slot = 0; slot < op_->inputs.size(); ++slot)
    if (wants(slot) && before.count(callee.inputs()[slot])) required.push_back(callee.inputs()[slot]);
  if (required.empty()) return;
  const GradGraphInfoPtr info = info_of(callee, provided, required);
  if (info->expected_outputs.empty()) return;

  // Only tensors that the gradient graph uses become inputs.
  std::vector<Tensor*> inputs(op_->inputs.size(), nullptr), outputs(op_->outputs.size(), nullptr);
  for (const ExpectedConnection& c : info->expected_inputs) {
    if (c.type != ConnectionType::fwd) continue;
    const auto& ins = callee.inputs();
    if (const auto at = std::find(ins.begin(), ins.end(), c.fwd_tensor); at != ins.end()) {
      const auto i = static_cast<size_t>(at - ins.begin());
      inputs[i] = in(i).tensor();
    } else {
      const auto& outs = callee.outputs();
      const auto j = static_cast<size_t>(std::find(outs.begin(), outs.end(), c.fwd_tensor) - outs.begin());
      outputs.at(j) = out(j).tensor();
    }
  }
  const std::vector<Tensor*> gradients = call_gradient(*info, inputs, outputs, output_grads);
  for (size_t slot = 0; slot < gradients.size(); ++slot)
    if (gradients[slot]) set(slot, builder_.of(gradients[slot]));
}

void Differentiator::gradient_of_branch() {
  check_repeatable(*op_);
  const Expr condition = reshape(in(0), {});
  std::vector<Tensor*> output_grads;
  for (Tensor* t : op_->outputs) output_grads.push_back(gradient(t));
  size_t first = 1;
  for (size_t which = 0; which < op_->called.size(); ++which) {
    Graph& branch = *op_->called[which];
    const size_t count = branch.inputs().size();
    std::vector<Tensor*> provided, required;
    for (size_t i = 0; i < output_grads.size(); ++i)
      if (output_grads[i]) provided.push_back(branch.outputs()[i]);
    provided = floating_once(provided);
    const TensorSet before = inputs_before(branch, provided);
    for (size_t i = 0; i < count; ++i)
      if (wants(first + i) && before.count(branch.inputs()[i])) required.push_back(branch.inputs()[i]);
    const GradGraphInfoPtr info = required.empty() ? nullptr : info_of(branch, provided, required);
    if (info && !info->expected_outputs.empty()) {
      const std::vector<Tensor*> inputs = all_inputs(first, count);
      const std::vector<Tensor*> outputs = graph_.add_call(branch, inputs)->outputs;
      const std::vector<Tensor*> found = call_gradient(*info, inputs, outputs, output_grads);
      for (size_t i = 0; i < count; ++i) {
        if (!found[i]) continue;
        // The untaken branch contributes zero, whatever it would have computed.
        const Expr g = builder_.of(found[i]), none = builder_.of(zeros(found[i]->spec));
        set(first + i, builder_.one("where", {condition, which == 0 ? g : none, which == 0 ? none : g}));
      }
    }
    first += count;
  }
}

}  // namespace pxl
