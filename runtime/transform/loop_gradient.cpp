// The gradient of a repeat. A short one is differentiated iteration by iteration. A long one becomes two repeats in the
// gradient graph: the first runs the iterations again and writes what their gradients need into memory with an axis of
// iterations, the second reads it from the last iteration to the first.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "runtime/base/codes.hpp"
#include "runtime/graph/row_by_name.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/rebuild.hpp"

namespace pxl {

namespace {

using Ints = std::vector<int64_t>;

/// Unrolled, each iteration is ops of its own, which fuse and have gradients themselves.
constexpr int64_t max_unrolled = 64;

int64_t iterations(const Op& op) {
  for (const Attr& a : op.attrs)
    if (const auto* n = std::get_if<int64_t>(&a)) return *n;
  throw Error(fmt::format("{}: no count", op.row->name), {}, Fault::internal);
}

size_t index_in(const std::vector<Tensor*>& list, const Tensor* t) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), t) - list.begin());
}

Shape stacked(int64_t n, const Shape& shape) {
  Shape all{n};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

Expr position(Emitter& at, int64_t value) { return at.constant(Array::full_int(DType::int32, {1}, value), "index"); }

Op* add_loop(Graph& graph, Graph& body, std::vector<Tensor*> inputs, int64_t n) {
  const OpRow& row = get_op("loop");
  Attributes attrs(row.params.size());
  attrs[param_index(row, "count")] = n;
  return graph.add_control(row, {&body}, std::move(inputs), std::move(attrs));
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
    gradient_by_loops(body, n, *info);
  else
    gradient_by_iteration(body, n, info.get());
}

void Differentiator::gradient_by_iteration(Graph& body, int64_t n, const GradGraphInfo* info) {
  const size_t carried = body.declared_outputs();
  std::vector<Tensor*> grads;  // of the carried tensors after the iteration at hand
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
    if (g) set(i, emitter_.of(g));
  }
}

Differentiator::Kept Differentiator::keep_iterations(Graph& body, int64_t n, const std::vector<Tensor*>& values,
                                                     const std::vector<Tensor*>& operands) {
  Kept kept;
  if (values.empty()) return kept;
  const size_t carried = body.declared_outputs();
  Graph& made = forward_.ir().create_graph(body.title() + "_stash");
  GraphEmitter at(made);
  std::vector<Tensor*> given, inputs(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(carried));
  for (size_t i = 0; i < carried; ++i) given.push_back(made.add_input(body.inputs()[i]->spec, body.inputs()[i]->name));
  Tensor* index = made.add_input({{1}, DType::int32, {}}, "index");
  inputs.push_back(position(emitter_, 0).tensor());
  for (size_t i = carried; i < operands.size(); ++i) {
    given.push_back(made.add_input(body.inputs()[i]->spec, body.inputs()[i]->name));
    inputs.push_back(operands[i]);
  }
  const Op* call = made.add_call(body, given);
  for (Tensor* value : values) {
    const TensorSpec memory{stacked(n, value->spec.shape), value->spec.dtype, {}};
    kept.memory.push_back(emitter_.one("init", {}, {{"shape", memory.shape}, {"dtype", memory.dtype}}).tensor());
    inputs.push_back(kept.memory.back());
    Tensor* here = made.add_input(memory, value->name + "_stash", true);
    const size_t i = index_in(body.inputs(), value);
    Tensor* now = i < given.size() ? given[i] : call->outputs.at(index_in(body.outputs(), value));
    at.one("dynamic_update_", {at.of(here), at.of(index), reshape(at.of(now), stacked(1, value->spec.shape))},
           {{"axes", Ints{0}}, {"sizes", Ints{1}}});
  }
  for (size_t i = 0; i < carried; ++i) made.add_output(call->outputs[i]);
  made.add_output((at.of(index) + position(at, 1)).tensor());
  kept.loop = add_loop(graph_, made, std::move(inputs), n);
  return kept;
}

void Differentiator::gradient_by_loops(Graph& body, int64_t n, const GradGraphInfo& info) {
  const size_t carried = body.declared_outputs();
  const std::vector<Tensor*>& ins = body.inputs();
  const std::vector<Tensor*> operands = all_inputs(0, op_->inputs.size());
  std::vector<Tensor*> values;  // those that each iteration has its own of
  for (const ExpectedConnection& c : info.expected_inputs) {
    const size_t i = index_in(ins, c.fwd_tensor);
    if (c.type == ConnectionType::fwd && (i < carried || i == ins.size())) values.push_back(c.fwd_tensor);
  }
  const Kept kept = keep_iterations(body, n, values, operands);

  Graph& made = forward_.ir().create_graph(body.title() + "_reverse");
  GraphEmitter at(made);
  std::vector<Tensor*> inputs;  // of the second repeat
  const auto takes = [&](const TensorSpec& spec, const std::string& name, Tensor* operand) {
    inputs.push_back(operand);
    return made.add_input(spec, name);
  };
  // Carried: the gradients of what is carried, the sums for what is not, and the iteration.
  std::vector<Tensor*> state(ins.size(), nullptr);
  for (size_t i = 0; i < carried; ++i) {
    if (!is_floating(ins[i]->spec.dtype)) continue;
    Tensor* given = gradient(op_->outputs[i]);
    state[i] = takes(ins[i]->spec, "gradient", given ? given : zeros(ins[i]->spec));
  }
  for (const ExpectedConnection& c : info.expected_outputs)
    if (const size_t i = index_in(ins, c.fwd_tensor); i >= carried && i < ins.size() && wants(i))
      state[i] = takes(ins[i]->spec, "sum", zeros(ins[i]->spec));
  Tensor* index = takes({{1}, DType::int32, {}}, "index", position(emitter_, n - 1).tensor());

  std::vector<Tensor*> given;
  for (const ExpectedConnection& c : info.expected_inputs) {
    const TensorSpec& spec = c.fwd_tensor->spec;
    if (c.type == ConnectionType::fwd_grad) {
      Expr total;  // of several where the body returns the tensor twice
      for (size_t i = 0; i < carried; ++i)
        if (body.outputs()[i] == c.fwd_tensor) total = total ? total + at.of(state[i]) : at.of(state[i]);
      given.push_back(total.tensor());
      continue;
    }
    const size_t k = index_in(values, c.fwd_tensor);
    if (k == values.size()) {
      given.push_back(takes(spec, c.fwd_tensor->name, operands[index_in(ins, c.fwd_tensor)]));
      continue;
    }
    Tensor* memory = takes(kept.memory[k]->spec, c.fwd_tensor->name + "_stash", kept.memory[k]);
    const Expr slice = at.one("dynamic_slice", {at.of(memory), at.of(index)}, {{"axes", Ints{0}}, {"sizes", Ints{1}}});
    given.push_back(reshape(slice, spec.shape).tensor());
  }
  const Op* call = made.add_call(*info.graph, given);
  std::vector<Tensor*> found(ins.size(), nullptr);
  for (size_t k = 0; k < info.expected_outputs.size(); ++k)
    if (const size_t i = index_in(ins, info.expected_outputs[k].fwd_tensor); i < ins.size())
      found[i] = call->outputs.at(k);
  std::vector<size_t> slots;  // whose gradient each output is
  for (size_t i = 0; i < ins.size(); ++i) {
    if (!state[i]) continue;
    slots.push_back(i);
    if (i >= carried)
      made.add_output((at.of(state[i]) + at.of(found[i])).tensor());
    else
      made.add_output(found[i] ? found[i]
                               : made.add_constant(Array::zeros(ins[i]->spec.dtype, ins[i]->spec.shape), "zeros"));
  }
  made.add_output((at.of(index) - position(at, 1)).tensor());
  Op* loop = add_loop(graph_, made, std::move(inputs), n);
  if (kept.loop) add_order(*loop, kept.loop);
  for (size_t j = 0; j < slots.size(); ++j)
    if (found[slots[j]]) set(slots[j], emitter_.of(loop->outputs[j]));
}

}  // namespace pxl
