// The gradient of a scan: a scan in the other direction over the values that the iterations stored. Gradients of
// carried tensors are carried, gradients of slices are stacked, and gradients of the other inputs are summed. Gradients
// of stacked results are sliced.
#include <algorithm>
#include <optional>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/differentiator.hpp"
#include "runtime/transform/loops/scan.hpp"
#include "runtime/transform/recompute.hpp"

namespace pxl {

namespace {

/// The inner extent that fills a block of terms (gemm/packed.inc). With it, an iteration's GEMM has whole blocks, as
/// one GEMM over all iterations has.
constexpr int64_t min_inner_extent = 256;

/// Operands of a float matrix product transpose(left) @ right, both of rank 2; null if the tensor is none.
struct TransposedProduct {
  Tensor *left = nullptr, *right = nullptr;
};
TransposedProduct transposed_product(const Tensor* t) {
  const Op* product = t->producer;
  if (!product || product->row != &get_op("matmul") || product->inputs[0]->spec.shape.size() != 2 ||
      product->inputs[1]->spec.shape.size() != 2 || product->inputs[0]->spec.dtype != t->spec.dtype ||
      product->inputs[1]->spec.dtype != t->spec.dtype)
    return {};
  const Op* transposed = product->inputs[0]->producer;
  if (!transposed || transposed->row != &get_op("transpose")) return {};
  // Only this permutation of two axes changes a matrix; for one row or column the order does not matter.
  const Shape &from = transposed->inputs[0]->spec.shape, &to = transposed->outputs[0]->spec.shape;
  if (from.size() != 2 || from[0] != to[1] || from[1] != to[0]) return {};
  const auto* order =
      std::get_if<std::vector<int64_t>>(&transposed->attrs[param_index(*transposed->row, "permutation")]);
  if (order && *order == std::vector<int64_t>{0, 1}) return {};
  return {transposed->inputs[0], product->inputs[1]};
}

}  // namespace

/// A tensor that the reversed step is given.
struct ScanGradient::Given {
  enum Kind : uint8_t { carried, sliced, invariant } kind;
  Tensor* operand;  ///< in the graph that calls the reversed scan
  TensorSpec spec;  ///< in an iteration
  std::string name;
  Tensor* here = nullptr;  ///< in the reversed step
};

ScanGradient::ScanGradient(const ScanForm& form, const std::vector<bool>& given, const std::vector<bool>& wanted,
                           const std::map<Graph*, GradGraphInfoPtr>& called)
    : form_(form), given_(given), wanted_(wanted) {
  Graph& step = *form.step;
  // A state has a gradient if its result has one, or if a result with a gradient depends on it in some iteration. The
  // others contribute nothing, whatever their derivatives are.
  std::vector<bool> has = given;
  std::vector<Tensor*> provided, required, inputs;
  for (bool grows = true; grows;) {
    provided.clear();
    for (size_t j = 0; j < has.size(); ++j)
      if (has[j]) provided.push_back(step.outputs()[j]);
    provided = floating_once(provided);
    inputs = differentiable_inputs(step, provided);
    grows = false;
    for (Tensor* t : inputs) {
      const size_t i = index_in(step.inputs(), t);
      if (i >= form.carried || has[i]) continue;
      has[i] = grows = true;
    }
  }
  for (size_t i = 0; i < form.carried; ++i)
    if (has[i] && is_floating(step.inputs()[i]->spec.dtype)) states_.push_back(i);
  for (Tensor* t : inputs) {
    const size_t i = index_in(step.inputs(), t);
    if (i < form.carried || wanted[i]) required.push_back(t);
  }
  if (provided.empty() || required.empty()) return;
  const auto known = called.find(&step);
  info_ = known != called.end() ? known->second : differentiate(step, provided, required, called, false);
  if (form.recomputed && any()) info_ = recompute_graph(*info_);
  for (const ExpectedConnection& c : info_->expected_inputs) {
    if (c.type != ConnectionType::fwd) continue;
    const size_t i = index_in(step.inputs(), c.fwd_tensor), j = index_in(step.outputs(), c.fwd_tensor);
    const bool is_stacked = j >= form.carried && j < stash_begin();
    if (i < form.carried || (i == step.inputs().size() && !is_stacked)) stash_.push_back(c.fwd_tensor);
  }
}

/// Finds the source from which the reversed step gets a tensor of the step.
ScanGradient::Given ScanGradient::source(Tensor* t, const Operands& operands) const {
  const Graph& step = *form_.step;
  if (const size_t k = index_in(stash_, t); k < stash_.size())
    return {Given::sliced, operands.stashed(k), t->spec, t->name};
  const size_t i = index_in(step.inputs(), t);
  if (i < step.inputs().size())
    return {i < form_.carried + form_.sliced ? Given::sliced : Given::invariant, operands.input(i), t->spec, t->name};
  return {Given::sliced, operands.output(index_in(step.outputs(), t)), t->spec, t->name};
}

/// The reversed step and the call of its scan, which are made in steps.
struct ScanGradient::Reversal {
  const ScanGradient& of;
  Graph& made;
  const Operands& operands;
  Graph &step = *of.form_.step, &gradient = *of.info_->graph;
  Graph& back = step.ir().create_graph(step.title() + "_reverse");
  GraphOpBuilder at{back}, outside{made};
  ScanForm form = {};

  std::vector<Given> given = {};
  std::vector<std::pair<size_t, size_t>> gradient_of = {};  ///< an output of the step, and the index of its gradient
  std::vector<size_t> value_of = {};                        ///< index in `given` by expected input of the gradient
  std::vector<Tensor*> inputs = {}, call_inputs = {};       ///< of the scan, and of the gradient in an iteration

  /// An operand of a product over all iterations.
  struct Factor {
    Tensor* sequence = nullptr;  ///< in `made`; null: stacked result number `stacked`
    size_t stacked = 0;
  };
  struct Product {
    size_t input;  ///< of the scan
    Factor left, right;
    TensorSpec left_spec, right_spec;
  };
  std::vector<Tensor*> collected = {};  ///< stacked tensors of the gradient graph
  std::vector<Product> products = {};
  std::vector<std::pair<size_t, size_t>> stacked = {}, summed = {};  ///< input of the scan, output of the gradient
  std::vector<size_t> found = std::vector<size_t>(step.inputs().size(), gradient.outputs().size());

  static Tensor* zeros(Graph& graph, const TensorSpec& spec) {
    return graph.add_constant(Array::zeros(spec.dtype, spec.shape), "zeros");
  }

  /// Lists what the reversed step is given: gradients of the step's outputs, and tensors that its gradient expects.
  void list_given() {
    for (const size_t i : of.states_) {
      const TensorSpec& spec = step.outputs()[i]->spec;
      Tensor* known = operands.gradient(i);
      gradient_of.emplace_back(i, given.size());
      given.push_back({Given::carried, known ? known : zeros(made, spec), spec, "gradient"});
    }
    for (size_t j = of.form_.carried; j < of.given_.size(); ++j) {
      if (!of.given_[j]) continue;
      gradient_of.emplace_back(j, given.size());
      given.push_back({j < of.stash_begin() ? Given::sliced : Given::invariant, operands.gradient(j),
                       step.outputs()[j]->spec, "gradient"});
    }
    for (const ExpectedConnection& c : of.info_->expected_inputs) {
      value_of.push_back(given.size());
      if (c.type == ConnectionType::fwd) given.push_back(of.source(c.fwd_tensor, operands));
    }
  }

  /// Adds the inputs of the reversed step in the order of a scan, and those of its call of the gradient.
  void add_inputs() {
    form = {.step = &back,
            .count = of.form_.count,
            .carried = of.states_.size(),
            .reversed = !of.form_.reversed,
            .counted = of.form_.counted};
    for (const auto kind : {Given::carried, Given::sliced, Given::invariant})
      for (Given& g : given) {
        if (g.kind != kind) continue;
        g.here = back.add_input(g.spec, g.name);
        inputs.push_back(g.operand);
        form.sliced += kind == Given::sliced ? 1 : 0;
      }
    for (size_t k = 0; k < value_of.size(); ++k) {
      const ExpectedConnection& c = of.info_->expected_inputs[k];
      if (c.type == ConnectionType::fwd) {
        call_inputs.push_back(given[value_of[k]].here);
        continue;
      }
      Expr total;  // several terms if the step returns the tensor several times
      for (const auto& [j, g] : gradient_of)
        if (step.outputs()[j] == c.fwd_tensor) total = total ? total + at.of(given[g].here) : at.of(given[g].here);
      call_inputs.push_back(total ? total.tensor() : zeros(back, c.fwd_tensor->spec));
    }
  }

  std::optional<Factor> factor(Tensor* t) {
    if (const size_t k = index_in(gradient.inputs(), t); k < value_of.size()) {
      if (of.info_->expected_inputs[k].type != ConnectionType::fwd) return std::nullopt;
      const Given& g = given[value_of[k]];
      return g.kind == Given::sliced ? std::optional<Factor>({g.operand, 0}) : std::nullopt;
    }
    if (t->kind != TensorKind::result) return std::nullopt;
    const size_t n = index_in(collected, t);
    if (n == collected.size()) collected.push_back(t);
    return Factor{nullptr, n};
  }
  /// A gradient that is the same tensor's sum of GEMMs over the iterations is one GEMM of the stacked factors.
  bool add_product(size_t input, const Tensor* result) {
    const TransposedProduct p = transposed_product(result);
    if (!p.left || of.form_.counted || p.left->spec.shape[0] >= min_inner_extent) return false;
    const auto left = factor(p.left);
    const auto right = left ? factor(p.right) : std::nullopt;
    if (right) products.push_back({input, *left, *right, p.left->spec, p.right->spec});
    return right.has_value();
  }
  /// Decides how the gradient of each input comes from the iterations.
  void divide_results() {
    for (size_t k = 0; k < of.info_->expected_outputs.size(); ++k) {
      const size_t i = index_in(step.inputs(), of.info_->expected_outputs[k].fwd_tensor);
      found[i] = k;
      if (i < of.form_.carried) continue;
      if (i < of.form_.carried + of.form_.sliced)
        stacked.emplace_back(i, k);
      else if (!add_product(i, gradient.outputs()[k]))
        summed.emplace_back(i, k);
    }
  }

  const Op* call_scan() {
    const std::vector<size_t> places = gradient.add_stashed_outputs(collected);
    const Op* call = back.add_call(gradient, call_inputs);
    for (const size_t i : of.states_)
      back.add_output(found[i] < gradient.outputs().size() ? call->outputs[found[i]]
                                                           : zeros(back, step.inputs()[i]->spec));
    for (const auto& [i, k] : stacked) back.add_output(call->outputs[k]);
    for (const size_t k : places) back.add_output(call->outputs[k]);
    for (const auto& [i, k] : summed) back.add_output(call->outputs[k]);
    form.stacked = stacked.size() + collected.size();
    if (form.counted) inputs.push_back(operands.count);
    return made.add_call(make_scan(form), std::move(inputs));
  }

  std::vector<Tensor*> results() {
    list_given();
    add_inputs();
    divide_results();
    const Op* reversed = call_scan();
    std::vector<Tensor*> results(step.inputs().size(), nullptr);
    size_t output = 0;
    for (const size_t i : of.states_) {
      Tensor* g = reversed->outputs[output++];
      if (of.wanted_[i] && found[i] < gradient.outputs().size()) results[i] = g;
    }
    for (const auto& [i, k] : stacked) results[i] = reversed->outputs[output++];
    const size_t first_collected = output;
    output += collected.size();
    for (const auto& [i, k] : summed) results[i] = reversed->outputs[output++];
    for (const Product& p : products) {
      const auto matrix = [&](const Factor& f, const TensorSpec& spec) {
        Tensor* t = f.sequence ? f.sequence : reversed->outputs[first_collected + f.stacked];
        return reshape(outside.of(t), {form.count * spec.shape[0], spec.shape[1]});
      };
      const Expr left = transpose(matrix(p.left, p.left_spec), {1, 0});
      results[p.input] = outside.one("matmul", {left, matrix(p.right, p.right_spec)}).tensor();
    }
    return results;
  }
};

std::vector<Tensor*> ScanGradient::reverse(Graph& made, const Operands& operands) {
  return Reversal{*this, made, operands}.results();
}

}  // namespace pxl
