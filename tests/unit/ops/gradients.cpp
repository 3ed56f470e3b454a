// Every gradient of every row agrees with central differences in float64, through autodiff.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "gradient_rows.hpp"
#include "runtime/transform/autodiff.hpp"
#include "samples.hpp"

using namespace pxl;
using namespace pxl::test;

// Kernels, then definitions, compute the value, the gradient graph and the differences.
TEST_CASE("gradients agree with finite differences") {
  for (Kernel (*by)(const OpContext&) : {kernel_of, definition_kernel}) {
    CAPTURE(by == definition_kernel);
    std::set<std::string_view> checked;
    for (const OpRow* row : op_table()) {
      if (row->role != Role::compute && row->role != Role::composite) continue;
      if (row->modifies || by_definition_other(row->name)) continue;
      if (row->role == Role::compute && !row->gradient) continue;
      CAPTURE(row->name);
      const Sample sample = sample_for(*row, DType::float64);

      Ir ir;
      Graph& g = ir.create_graph("f");
      GraphOpBuilder at(g);
      std::vector<Tensor*> inputs;
      std::vector<Array> given;
      std::vector<Expr> outputs;
      try {
        outputs = at.emit(*row, arguments(*row, sample, [&](Array a) {
          inputs.push_back(g.add_input(a.spec(), "x"));
          given.push_back(a);
          return at.of(inputs.back());
        }));
        std::vector<Tensor*> provided, required;
        bool all_differentiable = true;
        for (const Expr& e : outputs)
          if (is_floating(e.dtype())) {
            g.add_output(e.tensor());
            provided.push_back(e.tensor());
          }
        for (const auto& op : g.ops())
          all_differentiable = all_differentiable && (op->row->gradient || !op->called.empty());
        if (provided.empty() || !all_differentiable) continue;
        const size_t differentiable = has_constant_operand(row->name) ? 1 : inputs.size();
        for (size_t i = 0; i < differentiable; ++i)
          if (is_floating(inputs[i]->spec.dtype) && given[i].dtype() == DType::float64) required.push_back(inputs[i]);
        if (required.empty()) continue;

        const auto value = [&](const std::vector<Array>& x) {
          Values v;
          for (size_t i = 0; i < x.size(); ++i) v[inputs[i]] = x[i];
          v = run_graph(g, std::move(v), by);
          double total = 0;
          for (size_t o = 0; o < provided.size(); ++o)
            for (int64_t i = 0; i < v.at(provided[o]).size(); ++i) total += weight(o, i) * v.at(provided[o]).number(i);
          return total;
        };

        const GradGraphInfoPtr info = autodiff(g, provided);
        verify(ir);
        for (const auto& op : g.ops()) checked.insert(op->row->name);
        Values forward;
        for (size_t i = 0; i < inputs.size(); ++i) forward[inputs[i]] = given[i];
        forward = run_graph(g, std::move(forward), by);
        Values backward;
        size_t dy = 0;
        for (size_t i = 0; i < info->expected_inputs.size(); ++i) {
          const ExpectedConnection& c = info->expected_inputs[i];
          Tensor* in = info->graph->inputs()[i];
          if (c.type == ConnectionType::fwd) {
            backward[in] = forward.at(c.fwd_tensor);
          } else {
            Array a(DType::float64, in->spec.shape);
            for (int64_t k = 0; k < a.size(); ++k) a.mutable_data<double>()[k] = weight(dy, k);
            backward[in] = a.cast(in->spec.dtype);
            ++dy;
          }
        }
        backward = run_graph(*info->graph, std::move(backward), by);

        for (size_t r = 0; r < required.size(); ++r) {
          // An operand on which nothing depends has none.
          const auto found = std::ranges::find(info->expected_outputs, required[r], &ExpectedConnection::fwd_tensor);
          const auto k = static_cast<size_t>(found - info->expected_outputs.begin());
          const Array gradient = found == info->expected_outputs.end()
                                     ? Array::zeros(DType::float64, required[r]->spec.shape)
                                     : backward.at(info->graph->outputs()[k]);
          size_t slot = 0;
          while (inputs[slot] != required[r]) ++slot;
          // float32 inside the op (casts, norms with float32 statistics) limits what differences can show.
          bool narrow = false;
          for (const auto& op : g.ops())
            for (const Tensor* t : op->outputs) narrow = narrow || t->spec.dtype == DType::float32;
          const double h = narrow ? 1e-2 : 1e-5, tolerance = narrow ? 2e-3 : 1e-6;
          for (int64_t i = 0; i < gradient.size(); ++i) {
            std::vector<Array> low = given, high = given;
            low[slot].mutable_data<double>()[i] -= h;
            high[slot].mutable_data<double>()[i] += h;
            const double expected = (value(high) - value(low)) / (2 * h);
            CAPTURE(slot);
            CAPTURE(i);
            CHECK(std::abs(gradient.number(i) - expected) <= tolerance * std::max(1.0, std::abs(expected)));
          }
        }
      } catch (const Error& e) {
        FAIL_CHECK(std::string(e.what()));
      }
    }
    // No row with a gradient may slip through for want of a sample that reaches it.
    for (const OpRow* row : op_table())
      if (row->role == Role::compute && row->gradient && !row->modifies && !by_definition_other(row->name) &&
          !is_step(*row)) {
        CAPTURE(row->name);
        CHECK(checked.count(row->name) == 1);
      }
  }
}

TEST_CASE("a gradient has no more ops than it needs") {
  Ir ir;
  Graph& g = ir.create_graph("Linear");
  GraphOpBuilder at(g);
  const auto f32 = [](Shape s) { return TensorSpec{std::move(s), DType::float32, {}}; };
  const Expr x = at.of(g.add_input(f32({2, 4}), "x")), w = at.of(g.add_input(f32({4, 3}), "w"));
  const Expr b = at.of(g.add_input(f32({3}), "b"));
  g.add_output((at.one("matmul", {x, w}) + b).tensor());
  std::vector<std::string> names;
  for (const auto& op : autodiff(g)->graph->ops()) names.emplace_back(op->row->schedule);
  std::sort(names.begin(), names.end());
  CHECK(names == std::vector<std::string>{"MatMul", "MatMul", "ReduceSum", "Transpose", "Transpose"});
}

TEST_CASE("tied operands of maximum share the gradient; a power of 2 becomes a product") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  GraphOpBuilder at(g);
  const Expr x = at.of(g.add_input({{1}, DType::float32, {}}, "x")),
             y = at.of(g.add_input({{1}, DType::float32, {}}, "y"));
  const Expr m = at.one("maximum", {std::vector<Expr>{x, y}});
  g.add_output(m.tensor());
  const auto info = autodiff(g);
  Values v;
  for (Tensor* t : info->graph->inputs()) v[t] = floats({1}, {3});
  v = run_graph(*info->graph, std::move(v));
  for (Tensor* t : info->graph->outputs()) CHECK(v.at(t).number(0) == 1.5);

  Graph& h = ir.create_graph("h");
  GraphOpBuilder in_h(h);
  const Expr z = in_h.of(h.add_input({{2}, DType::float32, {}}, "z"));
  h.add_output(in_h.one("pow", {z, Attr(int64_t{2})}).tensor());
  for (const auto& op : autodiff(h)->graph->ops()) CHECK(op->row->schedule == "Mul");
}

TEST_CASE("products with zeros have the right gradient") {
  Ir ir;
  Graph& g = ir.create_graph("f");
  GraphOpBuilder at(g);
  const Expr x = at.of(g.add_input({{3, 3}, DType::float32, {}}, "x"));
  g.add_output(at.one("prod", {x}, {{"axis", std::vector<int64_t>{1}}}).tensor());
  const auto info = autodiff(g);
  Values v;
  for (size_t i = 0; i < info->expected_inputs.size(); ++i)
    v[info->graph->inputs()[i]] = info->expected_inputs[i].type == ConnectionType::fwd_grad
                                      ? floats({3}, {1, 1, 1})
                                      : floats({3, 3}, {2, 3, 4, 0, 3, 4, 0, 0, 4});
  v = run_graph(*info->graph, std::move(v));
  CHECK(identical(v.at(info->graph->outputs()[0]), floats({3, 3}, {12, 8, 6, 12, 0, 0, 0, 0, 0})));
}
