// Gradients of repeats: very short ones are differentiated iteration by iteration, the others as scans (scan.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/codes.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/scan.hpp"

namespace pxl {

namespace {

/// Unrolled iterations are separate ops, which are planned together. Not measured.
constexpr int64_t max_unrolled = 4;

int64_t iterations(const Op& op) {
  for (const Attr& a : op.attrs)
    if (const auto* n = std::get_if<int64_t>(&a)) return *n;
  throw Error(fmt::format("{}: no count", op.row->name), {}, Fault::internal);
}

}  // namespace

void Differentiator::gradient_of_loop() {
  Graph& body = *op_->called[0];
  const int64_t n = iterations(*op_);
  check_repeatable(*op_);
  if (n > max_scan_iterations) {
    Diagnostic d;
    d.message = fmt::format("`{}` has no gradient for {} iterations: at most {} can be counted", op_->row->name, n,
                            max_scan_iterations);
    d.span = op_->origin.span;
    d.frames = op_->origin.frames;
    throw Error(std::move(d)).as(codes::gradient);
  }
  if (n > max_unrolled) return gradient_by_scan(body, n);
  gradient_by_iteration(body, n);
}

GradGraphInfoPtr Differentiator::info_of_iteration(Graph& body, const std::vector<Tensor*>& grads) {
  std::vector<Tensor*> provided;
  for (size_t i = 0; i < grads.size(); ++i)
    if (grads[i]) provided.push_back(body.outputs()[i]);
  provided = floating_once(provided);
  const std::vector<Tensor*> required = differentiable_inputs(body, provided);
  const GradGraphInfoPtr info = required.empty() ? nullptr : info_of(body, provided, required);
  return info && !info->expected_outputs.empty() ? info : nullptr;
}

void Differentiator::gradient_by_iteration(Graph& body, int64_t n) {
  const size_t carried = body.declared_outputs();
  std::vector<Tensor*> grads;  // of the carried tensors, after the current iteration
  for (size_t i = 0; i < carried; ++i) grads.push_back(gradient(op_->outputs[i]));
  std::vector<std::vector<Tensor*>> sums(op_->inputs.size());  // of the invariant inputs
  // An output without gradient contributes nothing, whatever its derivative is: it is not given zeros.
  GradGraphInfoPtr info = n > 0 ? info_of_iteration(body, grads) : nullptr;
  if (n > 0 && !info) return;

  std::vector<std::vector<Tensor*>> inputs;  // by iteration
  std::vector<const Op*> calls;              // a later gradient graph may add outputs
  if (n > 0) inputs.push_back(all_inputs(0, op_->inputs.size()));
  for (int64_t k = 0; k < n; ++k) {
    calls.push_back(graph_.add_call(body, inputs.back()));
    if (k + 1 == n) break;
    inputs.push_back(inputs.back());
    std::copy_n(calls.back()->outputs.begin(), carried, inputs.back().begin());
  }
  for (auto k = static_cast<size_t>(n); info && k-- > 0;) {
    const std::vector<Tensor*> found = call_gradient(*info, inputs[k], calls[k]->outputs, grads);
    std::copy_n(found.begin(), carried, grads.begin());
    for (size_t i = carried; i < found.size(); ++i)
      if (found[i]) sums[i].push_back(found[i]);
    if (k > 0) info = info_of_iteration(body, grads);
    if (!info) grads.assign(carried, nullptr);
  }
  if (n == 0) {  // the inputs that iterations would use have zero gradients
    for (Tensor* t : differentiable_inputs(body)) {
      const size_t i = index_in(body.inputs(), t);
      if (wants(i) && (i >= carried || !grads[i])) set(i, builder_.of(zeros(t->spec)));
    }
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!wants(i)) continue;
    Tensor* g = i < carried ? grads[i] : sum(sums[i]);
    if (g) set(i, builder_.of(g));
  }
}

void Differentiator::gradient_by_scan(Graph& body, int64_t n) {
  ScanForm form;
  form.step = &body;
  form.count = n;
  form.carried = body.declared_outputs();
  std::vector<bool> given, wanted;
  for (Tensor* t : op_->outputs) given.push_back(gradient(t) != nullptr);
  for (size_t i = 0; i < op_->inputs.size(); ++i) wanted.push_back(wants(i));
  ScanGradient scan(form, given, wanted, called_);
  if (!scan.any()) return;
  // The iterations are repeated, and the values for their gradients are kept; merge_loops has them run once.
  Graph* keeping = scan.keeping_scan(&body);
  const Op* kept = keeping ? graph_.add_call(*keeping, all_inputs(0, op_->inputs.size())) : nullptr;
  const std::vector<Tensor*> found =
      scan.reverse(graph_, {[&](size_t i) { return in(i).tensor(); }, [&](size_t j) { return out(j).tensor(); },
                            [&](size_t k) { return kept->outputs.at(scan.stash_begin() + k); },
                            [&](size_t j) { return gradient(op_->outputs[j]); }});
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i]) set(i, builder_.of(found[i]));
}

}  // namespace pxl
