// Tests every gradient on random operands and attributes. The planned engine's run of the gradient graph is compared
// with definitions, and in float64 with differences of the definition.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "../ops/gradient_rows.hpp"
#include "coverage.hpp"
#include "draw.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/op/shards.hpp"
#include "runtime/tensor/print.hpp"
#include "runtime/transform/autodiff.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

constexpr int draws = 24;  // of a row and dtype

/// A program that runs a row's op on variables and stores the gradients of its results' weighted sum.
struct GradientProgram {
  std::shared_ptr<Ir> ir = std::make_shared<Ir>();
  Graph* forward = nullptr;
  std::vector<Tensor*> inputs = {};  ///< of the forward graph
  std::vector<Array> given = {};     ///< their values
  std::vector<Tensor*> provided = {}, required = {};
  GradGraphInfoPtr info = {};
  std::vector<const Stream*> stores = {};  ///< parallel to `required`
};

Array weights(const TensorSpec& spec, size_t output) {
  Array a(DType::float64, spec.shape);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<double>()[i] = weight(output, i);
  return a.cast(spec.dtype);
}

/// Nothing where inference refuses the sample, no gradient passes, or something is printed.
std::optional<GradientProgram> gradient_program(const OpRow& row, const Sample& sample) {
  GradientProgram p;
  Graph& g = *(p.forward = &p.ir->create_graph("f"));
  GraphOpBuilder at(g);
  std::vector<Expr> outputs;
  try {
    outputs = at.emit(row, arguments(row, sample, [&](Array a) {
                        p.inputs.push_back(g.add_input(a.spec(), "x"));
                        p.given.push_back(a);
                        return at.of(p.inputs.back());
                      }));
  } catch (const Error&) {
    return {};
  }
  for (const auto& op : g.ops())
    if ((!op->row->gradient && op->called.empty()) || op->row->side_effect) return {};
  for (const Expr& e : outputs)
    if (is_floating(e.dtype())) p.provided.push_back(e.tensor());
  // Statistics of the norms carry no gradient of their own.
  if (row.name.find("normalization") != std::string_view::npos) p.provided.resize(1);
  if (p.provided.empty()) return {};
  for (Tensor* t : p.provided) g.add_output(t);
  // An operand on a path may still have no gradient: divisors of fmod, what is detached.
  for (Tensor* t : differentiable_inputs(g, p.provided)) {
    try {
      autodiff(g, p.provided, {{t}}, {}, true);
      p.required.push_back(t);
    } catch (const Error& e) {
      const std::string& why = e.first().message;
      if (why.find("no differentiable path") == why.npos && why.find("has no gradient") == why.npos) throw;
    }
  }
  if (p.required.empty()) return {};

  Graph& main = p.ir->main();
  std::vector<Tensor*> variables, wanted, dy;
  for (const Array& a : p.given) variables.push_back(main.add_variable(a.clone(), "v"));
  Op* site = main.add_call(g, variables);
  GraphOpBuilder in_main(main);
  for (size_t o = 0; o < p.provided.size(); ++o) {
    const TensorSpec& spec = p.provided[o]->spec;
    dy.push_back(main.add_variable(weights(spec.is_shard() ? whole_spec(spec) : spec, o), "dy"));
    // A shard on one replica has the elements of the whole tensor.
    if (spec.is_shard()) dy.back() = in_main.one("replica_sharded_slice", {in_main.of(dy.back())}).tensor();
  }
  for (size_t i = 0; i < p.inputs.size(); ++i)
    if (std::count(p.required.begin(), p.required.end(), p.inputs[i]) != 0) wanted.push_back(variables[i]);
  const Backward made = backward(*site, dy, wanted);
  p.info = made.info;
  for (Tensor* t : made.gradients) {
    Stream& s = p.ir->add_stream(t->spec, "g", false);
    main.add_host_store(s, t);
    p.stores.push_back(&s);
  }
  verify(*p.ir);
  return p;
}

struct Gradients {
  std::vector<Array> of = {};  ///< parallel to `required`
  std::string error = {};
};
Gradients run(const GradientProgram& p, const std::string& engine) {
  Gradients found;
  try {
    Session session(p.ir, "cpu", engine);
    const auto results = session.run({});
    for (const Stream* s : p.stores) found.of.push_back(results.at(s));
  } catch (const Error& e) {
    found.error = e.first().message;
  }
  return found;
}

double precision(DType dtype) { return is_floating(dtype) ? std::ldexp(1.0, 1 - pxl::row(dtype).digits) : 0.25; }

/// The bounds of a gradient's rounding: the largest of all values on the way to it, and the coarsest dtype.
struct Way {
  double largest = 1, precision = 0;
  bool finite = true;
};
void widen(Way& way, const Values& values) {
  for (const auto& [tensor, a] : values) {
    if (!is_floating(a.dtype())) {
      if (is_float8(a.dtype())) way.precision = 0.25;
      continue;
    }
    way.precision = std::max(way.precision, precision(a.dtype()));
    for (int64_t i = 0; i < a.size(); ++i) {
      way.finite = way.finite && std::isfinite(a.number(i));
      if (std::isfinite(a.number(i))) way.largest = std::max(way.largest, std::fabs(a.number(i)));
    }
  }
}
Values forward_values(const GradientProgram& p, const std::vector<Array>& given) {
  Values v;
  for (size_t i = 0; i < given.size(); ++i) v[p.inputs[i]] = given[i];
  return run_graph(*p.forward, std::move(v), definition_kernel);
}
Way way_of(const GradientProgram& p) {
  Way way;
  const Values forward = forward_values(p, p.given);
  widen(way, forward);
  Values backward;
  size_t output = 0;
  for (size_t i = 0; i < p.info->expected_inputs.size(); ++i) {
    const ExpectedConnection& c = p.info->expected_inputs[i];
    Tensor* in = p.info->graph->inputs()[i];
    backward[in] = c.type == ConnectionType::fwd ? forward.at(c.fwd_tensor) : weights(in->spec, output++);
  }
  widen(way, run_graph(*p.info->graph, std::move(backward), definition_kernel));
  return way;
}

/// The kernels' roundings, of values that may cancel afterwards; a norm's second derivative sums their products.
std::string engines_differ(const Gradients& planned, const Gradients& reference, const Way& way) {
  if (planned.error != reference.error)
    return fmt::format("errors: planned `{}`, reference `{}`", planned.error, reference.error);
  for (size_t r = 0; r < planned.of.size(); ++r) {
    const Array &a = planned.of[r], &b = reference.of[r];
    if (text(a.spec()) != text(b.spec())) return fmt::format("specs: {}, {}", text(a.spec()), text(b.spec()));
    for (int64_t i = 0; i < a.size(); ++i) {
      const double x = a.number(i), y = b.number(i);
      // If a value is infinite or NaN, the order of steps decides whether the result is infinite or NaN.
      if (!std::isfinite(x) && !std::isfinite(y)) continue;
      if (!way.finite && (!std::isfinite(x) || !std::isfinite(y))) continue;
      if (!(std::fabs(x - y) <= 64 * way.precision * std::max(way.largest, std::fabs(y))))
        return fmt::format("gradient {}, element {}: planned {}, reference {}", r, i, x, y);
    }
  }
  return {};
}

/// The weighted sum, and the sum of its terms' sizes.
std::pair<double, double> total(const GradientProgram& p, const std::vector<Array>& given) {
  const Values v = forward_values(p, given);
  std::pair<double, double> sum;
  for (size_t o = 0; o < p.provided.size(); ++o) {
    const Array& a = v.at(p.provided[o]);
    const Array w = weights(a.spec(), o);
    for (int64_t i = 0; i < a.size(); ++i) {
      sum.first += w.number(i) * a.number(i);
      sum.second += std::fabs(w.number(i) * a.number(i));
    }
  }
  return sum;
}

struct Differences {
  size_t checked = 0, kinks = 0;
  std::string problem = {};
};
/// Some elements of each gradient in float64 against central differences. If the derivatives on both sides differ,
/// there is a kink or a step, and nothing to compare.
Differences compare_differences(const GradientProgram& p, const Gradients& found, const Way& way, Draw& draw) {
  Differences d;
  if (!found.error.empty() || way.precision > precision(DType::float32)) return d;
  const bool narrow = way.precision > precision(DType::float64);  // float32 within the op
  for (size_t r = 0; r < p.required.size(); ++r) {
    size_t slot = 0;
    while (p.inputs[slot] != p.required[r]) ++slot;
    const Array& gradient = found.of[r];
    if (p.given[slot].dtype() != DType::float64 || gradient.size() == 0) continue;
    for (int n = 0; n < 3; ++n) {
      const int64_t i = draw.below(gradient.size());
      const double x = p.given[slot].number(i), h = (narrow ? 1e-2 : 1e-5) * std::max(1.0, std::fabs(x));
      if (!std::isfinite(x)) continue;
      std::vector<Array> low = p.given, high = p.given;
      low[slot] = low[slot].clone(), high[slot] = high[slot].clone();
      low[slot].mutable_data<double>()[i] -= h;
      high[slot].mutable_data<double>()[i] += h;
      const auto [below, below_size] = total(p, low);
      const auto [at, at_size] = total(p, p.given);
      const auto [above, above_size] = total(p, high);
      const double left = (at - below) / h, right = (above - at) / h, derivative = (above - below) / (2 * h);
      const double noise = (narrow ? 0x1p-23 : 0x1p-50) * std::max({below_size, at_size, above_size}) / h;
      const double size = std::max(1.0, std::fabs(derivative));
      low[slot].mutable_data<double>()[i] += h / 2;
      high[slot].mutable_data<double>()[i] -= h / 2;
      const double nearer = (total(p, high).first - total(p, low).first) / h;
      const double smooth = (narrow ? 0.1 : 1e-3) * size + 2 * noise;
      if (!std::isfinite(derivative) || !std::isfinite(nearer) || noise > 1e-2 * size ||
          std::fabs(right - left) > smooth || std::fabs(derivative - nearer) > smooth) {
        ++d.kinks;
        continue;
      }
      ++d.checked;
      if (!(std::fabs(gradient.number(i) - derivative) <= (narrow ? 1e-2 : 1e-5) * size + noise) && d.problem.empty())
        d.problem = fmt::format("gradient of operand {}, element {} (at {}): {}, differences {}", slot, i, x,
                                gradient.number(i), derivative);
    }
  }
  return d;
}

/// Samples whose gradient is not the derivative. If several values are written to one element, all have its gradient,
/// as in PyTorch (tests/unit/ops/gradients.cpp has distinct indices).
bool is_no_derivative(const OpRow& row, const Sample& sample) {
  const auto reduction = sample.attrs.find("reduction");
  const bool overwrites = reduction != sample.attrs.end() && reduction->second == Attr(std::string("none"));
  return by_definition_other(row.name) || row.name == "scatter" ||
         ((row.name == "scatter_reduce" || row.name == "scatter_nd") && overwrites);
}

}  // namespace

TEST_CASE("a gradient with a wrong sign is caught, and a kernel that it uses") {
  OpRow wrong_gradient = get_op("sub"), wrong_kernel = get_op("exp");
  wrong_gradient.gradient = get_op("add").gradient;
  wrong_kernel.kernel = get_op("expm1").kernel;
  const OpRow* const relatives[] = {&wrong_gradient, &wrong_kernel};
  for (const OpRow* row : relatives) {
    int caught = 0;
    for (uint64_t seed = 0; seed < draws; ++seed) {
      Draw draw(*row, DType::float64, seed, false);
      const auto p = gradient_program(*row, draw.sample());
      if (!p) continue;
      const Gradients planned = run(*p, "planned"), reference = run(*p, "reference");
      const Way way = way_of(*p);
      caught += !engines_differ(planned, reference, way).empty() ||
                !compare_differences(*p, reference, way, draw).problem.empty();
    }
    CHECK_MESSAGE(caught > draws / 3, row->name, ": ", caught);
  }
}

TEST_CASE("gradients of random samples agree between engines and with differences") {
  const char* only = std::getenv("PXL_ORACLE_ONLY");
  Coverage coverage;
  size_t differentiable = 0, elements = 0, kinks = 0;
  const FlushSubnormals flush;
  for (const OpRow* row : op_table()) {
    if (row->role != Role::compute && row->role != Role::composite) continue;
    if (row->modifies || (row->role == Role::compute && !row->gradient) || is_step(*row)) continue;
    if (row->side_effect) continue;  // prints
    if (only && row->name != only) continue;
    size_t smooth = 0;
    std::string first;
    const auto fails = [&](DType dtype, uint64_t seed, const std::string& problem) {
      if (!problem.empty() && first.empty())
        first = fmt::format("{}, {}, draw {}: {}", row->name, name(dtype), seed, problem);
    };
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16, DType::float8_143})
      for (uint64_t seed = 0; seed < draws; ++seed) {
        Draw draw(*row, dtype, seed * 1009 + static_cast<uint64_t>(dtype), false);
        draw.positive_only = seed % 3 == 1 || row->name.starts_with("nll");  // probabilities
        Sample sample = draw.sample();
        std::optional<GradientProgram> p;
        try {
          p = gradient_program(*row, sample);
          if (!p && row->role == Role::composite && is_floating(dtype))
            p = gradient_program(*row, sample = sample_for(*row, dtype));
        } catch (const Error& e) {
          std::string operands;
          for (const auto& a : sample.operands) operands += a ? text(a->spec()) + " " : "";
          fails(dtype, seed, fmt::format("no gradient of {}: {}", operands, e.what()));
        }
        if (!p) continue;
        coverage.add(*row, dtype, attributes_of(*row, sample));
        const Gradients planned = run(*p, "planned"), reference = run(*p, "reference");
        if (!reference.error.empty()) {  // an index out of range
          fails(dtype, seed, engines_differ(planned, reference, {}));
          continue;
        }
        Way way;
        try {
          way = way_of(*p);
        } catch (const Error&) {
          continue;  // an index out of range in the forward graph, whose result the gradient needs not
        }
        fails(dtype, seed, engines_differ(planned, reference, way));
        if (dtype != DType::float64 || is_no_derivative(*row, sample)) continue;
        const Differences d = compare_differences(*p, reference, way, draw);
        fails(dtype, seed, d.problem);
        smooth += d.checked;
        elements += d.checked;
        kinks += d.kinks;
      }
    CHECK_MESSAGE(first.empty(), first);
    if (coverage.samples_of(*row) > 0) ++differentiable;
    if (row->role == Role::compute && !row->name.starts_with("detach")) {
      CHECK_MESSAGE(coverage.samples_of(*row) >= 12, row->name, " has too few samples: ", coverage.samples_of(*row));
      CHECK_MESSAGE((smooth >= 6 || is_no_derivative(*row, {})), row->name, " has too few differences: ", smooth);
    }
  }
  MESSAGE(fmt::format("gradients: {} elements agree with differences, {} are at kinks; {}", elements, kinks,
                      coverage.text()));
}
