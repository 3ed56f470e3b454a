// Gradients of repeats: short ones are differentiated iteration by iteration, long ones by two repeats (loop_pair.hpp).
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/codes.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/loop_pair.hpp"

namespace pxl {

namespace {

/// Unrolled iterations are separate ops, which fuse and can be differentiated again. Not measured.
constexpr int64_t max_unrolled = 64;

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
  if (n > std::numeric_limits<int32_t>::max()) {
    Diagnostic d;
    d.message = fmt::format("`{}` has no gradient for {} iterations: at most {} can be counted", op_->row->name, n,
                            std::numeric_limits<int32_t>::max());
    d.span = op_->origin.span;
    d.frames = op_->origin.frames;
    throw Error(std::move(d)).as(codes::gradient);
  }
  const std::vector<Tensor*> declared{body.outputs().begin(),
                                      body.outputs().begin() + static_cast<std::ptrdiff_t>(body.declared_outputs())};
  const std::vector<Tensor*> provided = floating_once(declared);
  const std::vector<Tensor*> required = differentiable_inputs(body, provided);
  const GradGraphInfoPtr info = n > 0 && !required.empty() ? info_of(body, provided, required) : nullptr;
  if (n > 0 && (!info || info->expected_outputs.empty())) return;
  if (n > max_unrolled)
    gradient_by_loops(body, n, info);
  else
    gradient_by_iteration(body, n, info.get());
}

void Differentiator::gradient_by_iteration(Graph& body, int64_t n, const GradGraphInfo* info) {
  const size_t carried = body.declared_outputs();
  std::vector<Tensor*> grads;  // of the carried tensors, after the current iteration
  for (size_t i = 0; i < carried; ++i) grads.push_back(gradient(op_->outputs[i]));
  std::vector<std::vector<Tensor*>> sums(op_->inputs.size());  // of the invariant inputs

  std::vector<std::vector<Tensor*>> inputs, outputs;  // by iteration
  if (n > 0) inputs.push_back(all_inputs(0, op_->inputs.size()));
  for (int64_t k = 0; k < n; ++k) {
    outputs.push_back(graph_.add_call(body, inputs.back())->outputs);
    if (k + 1 == n) break;
    inputs.push_back(inputs.back());
    std::copy_n(outputs.back().begin(), carried, inputs.back().begin());
  }
  for (auto k = static_cast<size_t>(n); k-- > 0;) {
    if (std::none_of(grads.begin(), grads.end(), [](const Tensor* t) { return t != nullptr; })) break;
    const std::vector<Tensor*> found = call_gradient(*info, inputs[k], outputs[k], grads);
    std::copy_n(found.begin(), carried, grads.begin());
    for (size_t i = carried; i < found.size(); ++i)
      if (found[i]) sums[i].push_back(found[i]);
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    if (!wants(i)) continue;
    Tensor* g = i < carried ? grads[i] : sum(sums[i]);
    if (g) set(i, builder_.of(g));
  }
}

void Differentiator::gradient_by_loops(Graph& body, int64_t n, const GradGraphInfoPtr& info) {
  LongLoop loop{&body, n, info, {}};
  for (size_t i = 0; i < op_->inputs.size(); ++i) loop.wanted.push_back(wants(i));
  const LoopPair pair = make_loop_pair(loop);
  std::vector<Tensor*> given;
  for (const size_t role : pair.roles) {
    if (role < op_->inputs.size()) {
      given.push_back(in(role).tensor());
    } else {
      const Tensor* carried = op_->outputs[role - op_->inputs.size()];
      Tensor* known = gradient(op_->outputs[role - op_->inputs.size()]);
      given.push_back(known ? known : zeros(carried->spec));
    }
  }
  const Op* call = graph_.add_call(*pair.graph, std::move(given));
  for (size_t k = 0; k < pair.slots.size(); ++k) set(pair.slots[k], builder_.of(call->outputs[k]));
}

}  // namespace pxl
