// Gradients of loops. Very short repeats are differentiated iteration by iteration, the others as scans (scan.hpp). A
// loop with a condition has a known number of iterations once it has run, and is a scan then. Its segments keep their
// first states, and are computed again for their gradients.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/shown_names.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/loops/repeat_while.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

namespace {

/// Unrolled iterations are separate ops, which are planned together.
constexpr int64_t max_unrolled = 4;

/// A loop that may run more often than this is divided into segments.
constexpr int64_t max_undivided = 16;

[[noreturn]] void refuse_gradient(const Op& op, std::string why, std::vector<std::string> notes) {
  Error e(fmt::format("`{}` has no gradient {}", called_name(op), why), std::move(notes));
  e.as(codes::gradient).locate(op.origin.span, op.origin.frames);
  throw e;
}

/// A scan over the segments of a counted scan: the step runs up to `length` iterations. It also carries the number of
/// the first one.
ScanForm in_segments(const ScanForm& all, int64_t length) {
  Graph& step = *all.step;
  Graph& segment = step.ir().create_graph(step.title() + "_segment");
  GraphOpBuilder at(segment);
  std::vector<Tensor*> given;
  const auto take = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      given.push_back(segment.add_input(step.inputs()[i]->spec, step.inputs()[i]->name));
  };
  take(0, all.carried);
  const Expr first = at.of(segment.add_input({{}, DType::int32, {}}, "first"));
  take(all.carried, step.inputs().size());
  const Expr number = at.of(segment.add_input({{}, DType::int32, {}}, "iterations"));
  const Expr most = at.constant(Array::scalar(static_cast<int32_t>(length)), "length");
  given.push_back(at.one("minimum", {std::vector<Expr>{number - first, most}}).tensor());
  ScanForm inner = all;
  inner.count = length;
  const Op* call = segment.add_call(make_scan(inner), given);
  for (size_t i = 0; i < all.carried; ++i) segment.add_output(call->outputs[i]);
  segment.add_output((first + most).tensor());
  ScanForm outer = all;
  outer.step = &segment;
  outer.carried = all.carried + 1;
  outer.count = (all.count + length - 1) / length;
  outer.recomputed = true;
  return outer;
}

}  // namespace

void Differentiator::gradient_of_loop() {
  Graph& body = *op_->called[0];
  const int64_t n = iteration_limit(*op_);
  check_repeatable(*op_);
  if (n == no_bound)
    refuse_gradient(
        *op_, "without a bound: its states are kept for each iteration",
        {fmt::format("`{}(..., bound = 200)` keeps those of up to 200; `jvp` needs no bound", called_name(*op_)),
         "a module with a `build_grad` has a gradient of its own, such as that of an implicit or adjoint method"});
  if (n > max_scan_iterations)
    refuse_gradient(*op_, fmt::format("for {} iterations: at most {} can be counted", n, max_scan_iterations), {});
  if (loop_condition(*op_)) return gradient_by_segments(body, n);
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

void Differentiator::gradient_by_segments(Graph& body, int64_t bound) {
  ScanForm all{&body, bound, body.declared_outputs()};
  all.counted = true;
  const auto length = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(bound))));
  const bool divided = bound > max_undivided;
  const ScanForm form = divided ? in_segments(all, length) : all;
  // The inputs of the scan: those of the loop, with the number of the first iteration after the states.
  const size_t carried = all.carried, extra = divided ? 1 : 0;
  const auto of_loop = [&](size_t i) { return i < carried ? i : i - extra; };
  const auto is_extra = [&](size_t i) { return divided && (i == carried || i + 1 == form.step->inputs().size()); };
  std::vector<bool> given, wanted;
  for (Tensor* t : op_->outputs) given.push_back(gradient(t) != nullptr);
  given.resize(form.carried, false);
  for (size_t i = 0; i < form.step->inputs().size(); ++i) wanted.push_back(!is_extra(i) && wants(of_loop(i)));
  ScanGradient scan(form, given, wanted, called_);
  if (!scan.any()) return;
  const Expr number = forward_value(iterations_of(*op_));
  Expr rounds = number;
  Tensor* first = nullptr;
  if (divided) {
    const auto int_constant = [&](int64_t v) { return builder_.constant(Array::scalar(static_cast<int32_t>(v)), "t"); };
    rounds = builder_.one("floor_div", {number + int_constant(length - 1), int_constant(length)});
    first = int_constant(0).tensor();
  }
  const auto input = [&](size_t i) {
    if (!is_extra(i)) return in(of_loop(i)).tensor();
    return i == carried ? first : number.tensor();
  };
  std::vector<Tensor*> inputs;
  for (size_t i = 0; i < form.step->inputs().size(); ++i) inputs.push_back(input(i));
  inputs.push_back(rounds.tensor());
  Graph* keeping = scan.keeping_scan(nullptr);
  const Op* kept = keeping ? graph_.add_call(*keeping, inputs) : nullptr;
  const std::vector<Tensor*> found = scan.reverse(
      graph_, {input, [&](size_t j) { return out(j).tensor(); },
               [&](size_t k) { return kept->outputs.at(scan.stash_begin() + k); },
               [&](size_t j) { return j < carried ? gradient(op_->outputs[j]) : nullptr; }, rounds.tensor()});
  for (size_t i = 0; i < found.size(); ++i)
    if (found[i] && !is_extra(i)) set(of_loop(i), builder_.of(found[i]));
}

void Differentiator::gradient_by_scan(Graph& body, int64_t n) {
  const ScanForm form{&body, n, body.declared_outputs()};
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
