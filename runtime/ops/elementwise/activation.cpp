// Activation functions with constants; inverse and hyperbolic functions.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/op/algebra_definitions.hpp"
#include "runtime/op/definitions.hpp"
#include "runtime/ops/elementwise/pairwise.hpp"
#include "runtime/ops/elementwise/unary.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr double selu_alpha = 1.67326319217681884765625, selu_gamma = 1.05070102214813232421875;  // ONNX Selu-6

constexpr Param slope_params[] = {{"t", ParamKind::tensor},
                                  {"alpha", ParamKind::number, of(0.01), "slope for negative numbers"}};
constexpr Param alpha_params[] = {{"t", ParamKind::tensor}, {"alpha", ParamKind::number, of(1.0)}};
constexpr Param selu_params[] = {{"t", ParamKind::tensor},
                                 {"alpha", ParamKind::number, of(selu_alpha)},
                                 {"gamma", ParamKind::number, of(selu_gamma)}};
constexpr Param hard_sigmoid_params[] = {
    {"t", ParamKind::tensor}, {"alpha", ParamKind::number, of(0.2)}, {"beta", ParamKind::number, of(0.5)}};
constexpr Param shrink_params[] = {{"t", ParamKind::tensor},
                                   {"lambd", ParamKind::element, of(0.5), "numbers nearer to 0 become 0"},
                                   {"bias", ParamKind::element, of(0.0), "how far the others move to 0"}};
constexpr Param threshold_params[] = {{"t", ParamKind::tensor},
                                      {"alpha", ParamKind::element, of(1.0), "what is not above becomes 0"}};
constexpr Param prelu_params[] = {{"t", ParamKind::tensor},
                                  {"slope", ParamKind::tensor, no_default, "broadcasts to t"}};
Expr squared(const Expr& t) { return of_op("square", t); }

/// The largest number below `bound` of the dtype in which x is compared: x < bound and x <= this have one answer.
double bound_below(DType dtype, double bound) {
  if (dtype == DType::float64) return std::nextafter(bound, -std::numeric_limits<double>::infinity());
  const auto nearest = static_cast<float>(bound);
  return static_cast<double>(nearest) < bound ? nearest
                                              : std::nextafter(nearest, -std::numeric_limits<float>::infinity());
}
/// A parameter of kind `element` as gradients compare with it.
double element_of(const OpContext& s, std::string_view param, DType dtype) { return s.element(param, dtype).number(0); }
constexpr double unbounded = std::numeric_limits<double>::infinity();
/// dy times `inside` where min <= t <= max, else times `outside`.
Expr gated(const Expr& dy, const Expr& t, double min, double max, double inside, double outside) {
  return t.builder().one("gate_grad", {dy, t}, {{"min", min}, {"max", max}, {"inside", inside}, {"outside", outside}});
}

/// `high` where t is above 0, else `low`: at 0 the slope of the left side counts, as in PyTorch.
Expr by_sign(const Expr& t, const Expr& low, const Expr& high) {
  OpBuilder& at = t.builder();
  return at.one("where", {at.one("greater", {t, at.scalar(0, t.dtype())}), high, low});
}
/// e^t where t is below 0, else 1.
Expr exp_below(const Expr& t) {
  return of_op("exp", t.builder().one("minimum", {std::vector<Expr>{t, t.builder().scalar(0, t.dtype())}}));
}

/// The gradient is alpha dy between the bounds at which alpha t + beta is 0 and 1, and 0 elsewhere.
Expr hard_sigmoid_gradient(const Expr& dy, const Expr& t, double alpha, double beta) {
  if (alpha == 0) return dy * 0.0;
  const double zero = -beta / alpha, one = (1 - beta) / alpha;
  return gated(dy, t, -bound_below(t.dtype(), -std::min(zero, one)), bound_below(t.dtype(), std::max(zero, one)), alpha,
               0);
}

/// Sets the gradient, of dy and t.
template <Expr (*gradient)(const Expr& dy, const Expr& t, const OpContext& site)>
void by_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, gradient(c.dy(), c.in(0), c.site()));
}
/// Sets dy times the derivative.
template <Expr (*derivative)(const Expr& t, const OpContext& site)>
void by_derivative(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * derivative(c.in(0), c.site()));
}

constexpr OpRow activation(const RowText& text, std::span<const Param> params, DefinitionFn definition, GradFn gradient,
                           InferFn infer = infer_same_float) {
  OpRow row = described(text, params, infer, definition, nullptr, gradient, Pattern::elementwise, tile_unary);
  return row;
}

/// The row with a kernel, which rounds more than once.
constexpr OpRow computed(KernelFn kernel, const Tolerance& tolerance, OpRow row) {
  row.kernel = kernel;
  row.inplace_ok = true;
  return within(tolerance, row);
}

template <Parametric f>
Kernel of_alpha(const OpContext& s) {
  return parametric_kernel(f, s.input(0).dtype, s.number("alpha"), 0, s.input(0).size());
}
Kernel selu_kernel(const OpContext& s) {
  return parametric_kernel(Parametric::selu, s.input(0).dtype, s.number("alpha"), s.number("gamma"), s.input(0).size());
}
Kernel hard_sigmoid_kernel(const OpContext& s) {
  return parametric_kernel(Parametric::hard_sigmoid, s.input(0).dtype, s.number("alpha"), s.number("beta"),
                           s.input(0).size());
}

/// Integers by the definition.
Kernel shrink_kernel(const OpContext& s) {
  const DType dtype = s.input(0).dtype;
  if (!is_floating(dtype)) return definition_kernel(s);
  return parametric_kernel(Parametric::shrink, dtype, element_of(s, "lambd", dtype), element_of(s, "bias", dtype),
                           s.input(0).size());
}
ElementOrder shrink_order(const OpContext& s) {
  return is_floating(s.input(0).dtype) ? ElementOrder::elementwise : ElementOrder::whole;
}
Kernel threshold_kernel(const OpContext& s) {
  const DType dtype = s.input(0).dtype;
  return parametric_kernel(Parametric::thresholded_relu, dtype, element_of(s, "alpha", dtype), 0, s.input(0).size());
}

std::vector<TensorSpec> infer_prelu(const OpContext& site) {
  check_floating(site, 0);
  return infer_into_first(site);
}

constexpr OpRow
    activation_table[] =
        {
            computed(unary<Unary::acos>, tolerance::function,
                     computes(Precision::kept, activation({"acos", "ops.acos", "Acos", "acos_out",
                                                           "The angle whose cosine is each element, from 0 to pi.",
                                                           "arccos(t)", "acos(array([-0.5, 0.0, 0.5]))", "Acos"},
                                                          unary_params, reference::acos,
                                                          by_derivative<[](const Expr& t, const OpContext&) {
                                                            return -of_op("rsqrt", 1.0 - squared(t));
                                                          }>))),
            computed(
                unary<Unary::acosh>, tolerance::function,
                computes(Precision::kept,
                         activation({"acosh", "ops.acosh", "Acosh", "acosh_out",
                                     "The inverse hyperbolic cosine of each element.", "ln(t + sqrt(t^2 - 1))",
                                     "acosh(array([1.5, 2.0, 3.0]))", "Acosh"},
                                    unary_params, reference::acosh, by_derivative<[](const Expr& t, const OpContext&) {
                                      return of_op("rsqrt", squared(t) - 1.0);
                                    }>))),
            computed(
                unary<Unary::asin>, tolerance::function,
                computes(
                    Precision::kept,
                    activation(
                        {"asin", "ops.asin", "Asin", "asin_out",
                         "The angle whose sine is each element, from -pi/2 to pi/2.", "arcsin(t)",
                         "asin(array([-0.5, 0.0, 0.5]))", "Asin"},
                        unary_params,
                        reference::asin,
                        by_derivative<
                            [](const Expr& t, const OpContext&) { return of_op("rsqrt", 1.0 - squared(t)); }>))),
            computed(
                unary<Unary::asinh>, tolerance::function,
                activation(
                    {"asinh", "ops.asinh", "Asinh", "asinh_out", "The inverse hyperbolic sine of each element.",
                     "ln(t + sqrt(t^2 + 1))", "asinh(array([-1.0, 0.0, 2.0]))", "Asinh"},
                    unary_params, reference::asinh,
                    by_derivative<[](const Expr& t, const OpContext&) { return of_op("rsqrt", squared(t) + 1.0); }>)),
            computed(
                unary<Unary::atan>, tolerance::function,
                activation({"atan", "ops.atan", "Atan", "atan_out",
                            "The angle whose tangent is each element, from -pi/2 to pi/2.", "arctan(t)",
                            "atan(array([-1.0, 0.0, 1.0]))", "Atan"},
                           unary_params, reference::atan,
                           by_derivative<[](const Expr& t,
                                            const OpContext&) { return of_op("reciprocal", squared(t) + 1.0); }>)),
            computed(
                unary<Unary::atanh>, tolerance::function,
                computes(
                    Precision::kept,
                    activation(
                        {"atanh", "ops.atanh", "Atanh", "atanh_out", "The inverse hyperbolic tangent of each element.",
                         "ln((1 + t) / (1 - t)) / 2", "atanh(array([-0.5, 0.0, 0.5]))", "Atanh"},
                        unary_params,
                        reference::atanh,
                        by_derivative<
                            [](const Expr& t, const OpContext&) { return of_op("reciprocal", 1.0 - squared(t)); }>))),
            computed(unary<Unary::cosh>, tolerance::function,
                     computes(Precision::kept,
                              activation(
                                  {"cosh", "ops.cosh", "Cosh", "cosh_out", "The hyperbolic cosine of each element.",
                                   "(e^t + e^-t) / 2",
                                   "cosh(array([-1.0, 0.0, 1.0]))", "Cosh"},
                                  unary_params, reference::cosh,
                                  by_derivative<[](const Expr& t, const OpContext&) { return of_op("sinh", t); }>))),
            computed(unary<Unary::sinh>, tolerance::function,
                     computes(Precision::kept,
                              activation(
                                  {"sinh", "ops.sinh", "Sinh", "sinh_out", "The hyperbolic sine of each element.",
                                   "(e^t - e^-t) / 2",
                                   "sinh(array([-1.0, 0.0, 1.0]))", "Sinh"},
                                  unary_params, reference::sinh,
                                  by_derivative<[](const Expr& t, const OpContext&) { return of_op("cosh", t); }>))),
            computed(
                unary<Unary::tan>, tolerance::function,
                computes(Precision::kept, activation({"tan", "ops.tan", "Tan",
                                                      "tan_out", "The tangent of each element, in radians.",
                                                      "sin(t) / cos(t)", "tan(array([-1.0, 0.0, 1.0]))", "Tan"},
                                                     unary_params,
                                                     reference::tan, by_derivative<[](const Expr& t, const OpContext&) {
                                                       return squared(of_op("tan", t)) + 1.0;
                                                     }>))),
            computed(of_alpha<Parametric::leaky_relu>, tolerance::function,
                     activation({"leaky_relu", "ops.leaky_relu", "LeakyRelu", "leaky_relu_out",
                                 "Each element, times alpha where it is negative.", "max(t, 0) + alpha min(t, 0)",
                                 "leaky_relu(array([-2.0, 0.0, 1.0]))", "LeakyRelu"},
                                slope_params, reference::leaky_relu,
                                by_gradient<
                                    [](const Expr& dy, const Expr& t, const OpContext& s) {
                                      return gated(dy, t, -unbounded, 0, s.number("alpha"), 1);
                                    }>)),
            computed(of_alpha<Parametric::elu>, tolerance::function,
                     activation({"elu", "ops.elu", "Elu", "elu_out", "Exponential linear unit.",
                                 "t where t >= 0, else alpha (e^t - 1)", "elu(array([-1.0, 0.0, 1.0]))", "Elu"},
                                alpha_params,
                                reference::elu, by_gradient<[](const Expr& dy, const Expr& t, const OpContext& s) {
                                  return by_sign(t, dy * exp_below(t) * s.number("alpha"), dy);
                                }>)),
            computed(
                selu_kernel, tolerance::function,
                activation({"selu", "ops.selu", "Selu", "selu_out",
                            "Scaled exponential linear unit, which keeps the mean and variance of activations.",
                            "gamma (t where t >= 0, else alpha (e^t - 1))", "selu(array([-1.0, 0.0, 1.0]))", "Selu"},
                           selu_params, reference::selu,
                           by_gradient<
                               [](const Expr& dy, const Expr& t, const OpContext& s) {
                                 return by_sign(t, dy * exp_below(t) * s.number("alpha"), dy) * s.number("gamma");
                               }>)),
            computed(
                of_alpha<Parametric::celu>, tolerance::function,
                activation({"celu", "ops.celu", "Celu", "celu_out",
                            "Continuously differentiable exponential linear unit.",
                            "t where t >= 0, else alpha (e^(t / alpha) - 1)", "celu(array([-1.0, 0.0, 1.0]))", "Celu"},
                           alpha_params, reference::celu,
                           by_derivative<
                               [](const Expr& t, const OpContext& s) {
                                 const Expr low = t.builder().one(
                                     "minimum", {std::vector<Expr>{t, t.builder().scalar(0, t.dtype())}});
                                 return of_op("exp", low * (1 / s.number("alpha")));
                               }>)),
            computed(
                hard_sigmoid_kernel, tolerance::short_sum,
                activation({"hard_sigmoid", "ops.hard_sigmoid", "HardSigmoid", "hard_sigmoid_out",
                            "A piecewise linear approximation of sigmoid.", "min(max(alpha t + beta, 0), 1)",
                            "hard_sigmoid(array([-4.0, 0.0, 1.0]))", "HardSigmoid"},
                           hard_sigmoid_params, reference::hard_sigmoid,
                           by_gradient<
                               [](const Expr& dy, const Expr& t, const OpContext& s) {
                                 return hard_sigmoid_gradient(dy, t, s.number("alpha"), s.number("beta"));
                               }>)),
            computed(unary<Unary::hard_swish>, tolerance::short_sum,
                     activation({"hard_swish", "ops.hard_swish", "HardSwish", "hard_swish_out",
                                 "Each element times a piecewise linear approximation of its sigmoid.",
                                 "t min(max(t / 6 + 1/2, 0), 1)", "hard_swish(array([-4.0, 0.0, 1.0]))", "HardSwish"},
                                unary_params, reference::hard_swish,
                                by_gradient<
                                    [](const Expr& dy, const Expr& t, const OpContext&) {
                                      return t.builder().one("hard_swish_grad", {dy, t});
                                    }>)),
            computed(shrink_kernel, tolerance::short_sum,
                     ordered(shrink_order, activation({"shrink", "ops.shrink", "Shrink", "shrink_out",
                                                       "Numbers within lambd of 0 become 0; the others move towards 0 "
                                                       "by "
                                                       "bias.",
                                                       "t - bias where t > lambd, t + bias where t < -lambd, else 0",
                                                       "shrink(array([-2.0, 0.2, 1.0]), bias = 0.5)", "Shrink"},
                                                      shrink_params, reference::shrink, by_gradient<[](const Expr& dy, const Expr& t, const OpContext& s) {
                                                        const double bound = element_of(s, "lambd", t.dtype());
                                                        return gated(dy, t, -bound, bound, 0, 1);
                                                      }>,
                                                      infer_same_number))),
            computed(unary<Unary::softsign>, tolerance::function,
                     activation({"softsign", "ops.softsign", "Softsign",
                                 "softsign_out", "Each element divided by 1 and its size.", "t / (1 + |t|)",
                                 "softsign(array([-1.0, 0.0, 1.0]))", "Softsign"},
                                unary_params, reference::softsign,
                                by_derivative<
                                    [](const Expr& t, const OpContext&) {
                                      return of_op("reciprocal", squared(of_op("abs", t) + 1.0));
                                    }>)),
            computed(threshold_kernel, tolerance::bits,
                     activation({"thresholded_relu", "ops.thresholded_relu", "ThresholdedRelu", "thresholded_relu_out",
                                 "Each element above alpha; 0 in place of the others.", "t where t > alpha, else 0",
                                 "thresholded_relu(array([-1.0, 0.5, 2.0]))", "ThresholdedRelu"},
                                threshold_params, reference::thresholded_relu,
                                by_gradient<
                                    [](const Expr& dy, const Expr& t, const OpContext& s) {
                                      return gated(dy, t, -unbounded, element_of(s, "alpha", t.dtype()), 0, 1);
                                    }>)),
            computed(
                unary<Unary::erfinv>, tolerance::function,
                computes(
                    Precision::kept,
                    activation(
                        {"erfinv", "ops.erfinv", "ErfInv", "erfinv_out",
                         "The number whose error function is each element, which is between -1 and 1.", "erf^-1(t)",
                         "erfinv(array([-0.5, 0.0, 0.5]))"},
                        unary_params,
                        reference::erfinv,
                        [](GradContext& c) {
                          if (c.wants(0))
                            c.set(0, c.dy() * (of_op("exp", squared(c.out())) * (1 / std::numbers::inv_sqrtpi / 2)));
                        }))),
            {.name = "prelu",
             .path = "ops.prelu",
             .schedule = "PRelu",
             .output = "prelu_out",
             .doc = "Each element, times its slope where it is negative.",
             .formula = "max(t, 0) + slope min(t, 0)",
             .example = "prelu(array([-2.0, 0.0, 1.0]), array([0.5, 0.5, 0.5]))",
             .params = prelu_params,
             .infer = infer_prelu,
             .definition = reference::prelu,
             .kernel = pairwise<Binary::prelu>,
             .gradient =
                 [](GradContext& c) {
                   const Expr x = c.in(0), dy = c.dy();
                   if (c.wants(0)) c.set(0, by_sign(x, dy * c.in(1), dy));
                   if (c.wants(1))
                     c.set(1, sum_to(by_sign(x, dy * x, x.builder().scalar(0, x.dtype())), c.in_spec(1).shape));
                 },
             .order = orders::pairs,
             .onnx = "PRelu",
             .tiles = tile_binary},
};
static_assert(all_complete(activation_table));

}  // namespace

std::span<const OpRow> activation_rows() { return activation_table; }

}  // namespace pxl
