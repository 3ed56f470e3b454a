// Gradients of activation functions, as ops with gradients of their own. Each is g times a derivative. Its gradient for
// g is the same op, and the gradient for the forward operand or result contains the next derivative.
#include <cmath>
#include <numbers>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/ops/elementwise/pairwise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param gradient_x_params[] = {{"g", ParamKind::tensor}, {"x", ParamKind::tensor}};
constexpr Param gradient_y_params[] = {{"g", ParamKind::tensor}, {"y", ParamKind::tensor}};
constexpr Param gate_grad_params[] = {{"g", ParamKind::tensor},      {"x", ParamKind::tensor},
                                      {"min", ParamKind::number},    {"max", ParamKind::number},
                                      {"inside", ParamKind::number}, {"outside", ParamKind::number}};
constexpr Param clip_grad_params[] = {
    {"g", ParamKind::tensor}, {"x", ParamKind::tensor}, {"min", ParamKind::element}, {"max", ParamKind::element}};

Expr square(const Expr& x) { return x.builder().one("square", {x}); }
Expr apply(std::string_view op, const Expr& x) { return x.builder().one(op, {x}); }

/// Gradient of a row that is linear in g: `row` for g, and g times `second` for the other operand.
template <class Second>
void linear_in_g(GradContext& c, Second second) {
  if (c.wants(0)) c.set(0, c.builder().one(c.op().row->name, {c.dy(), c.in(1)}));
  if (c.wants(1)) c.set(1, c.dy() * c.in(0) * second(c.in(1)));
}

Expr second_of_tanh(const Expr& y) { return y * -2.0; }          // of 1 - y^2, by y
Expr second_of_sigmoid(const Expr& y) { return 1.0 - y * 2.0; }  // of y (1 - y), by y

// The second derivative is (1 - t^2) (u' + x u'' / 2 - x t u'^2), where u = c (x + a x^3) and t = tanh u.
Expr second_of_gelu(const Expr& x) {
  constexpr double c = 0.7978845608028654, a = 0.044715;  // c: sqrt(2 / pi)
  const Expr x2 = square(x);
  const Expr t = apply("tanh", (x + x * x2 * a) * c);
  const Expr u1 = (x2 * (3 * a) + 1.0) * c;
  return (1.0 - square(t)) * (u1 + x2 * (3 * a * c) - x * t * square(u1));
}

// The density of the normal distribution times 2 - x^2.
Expr second_of_geluerf(const Expr& x) {
  const Expr x2 = square(x);
  return apply("exp", x2 * -0.5) * (2.0 - x2) * (std::numbers::inv_sqrtpi / std::numbers::sqrt2);
}

// s (1 - s) (2 + x (1 - 2 s)).
Expr second_of_swish(const Expr& x) {
  const Expr s = apply("sigmoid", x);
  return s * (1.0 - s) * (x * (1.0 - s * 2.0) + 2.0);
}

Expr second_of_erf(const Expr& x) { return x * apply("exp", -square(x)) * (-4.0 * std::numbers::inv_sqrtpi); }

constexpr OpRow gradient_helper(std::string_view name, std::string_view schedule, std::string_view doc,
                                std::span<const Param> params, DefinitionFn definition, KernelFn kernel,
                                GradFn gradient, TileMap tiles) {
  OpRow row{};
  row.name = name;
  row.schedule = schedule;
  row.output = "gradient";
  row.doc = doc;
  row.params = params;
  row.infer = infer_gradient_pair;
  row.definition = definition;
  row.kernel = kernel;
  row.gradient = gradient;
  row.pattern = Pattern::elementwise;
  row.inplace_ok = true;
  row.tiles = tiles;
  return row;
}

constexpr OpRow activation_grad_table[] = {
    within(tolerance::bits, gradient_helper(
                                "relu_grad", "ReluGrad", "g where the forward output is positive, else 0.",
                                gradient_y_params, reference::relu_grad, pairwise<Binary::relu_grad>,
                                [](GradContext& c) {
                                  if (c.wants(0)) c.set(0, c.builder().one("relu_grad", {c.dy(), c.in(1)}));
                                  set_zero(c, 1);
                                },
                                tile_gate_grad)),
    within(tolerance::short_sum,
           gradient_helper(
               "tanh_grad", "TanhGrad", "g (1 - y^2).", gradient_y_params, reference::tanh_grad,
               pairwise<Binary::tanh_grad>, [](GradContext& c) { linear_in_g(c, second_of_tanh); }, tile_gate_grad)),
    within(tolerance::short_sum, gradient_helper(
                                     "sigmoid_grad", "SigmoidGrad", "g y (1 - y).", gradient_y_params,
                                     reference::sigmoid_grad, pairwise<Binary::sigmoid_grad>,
                                     [](GradContext& c) { linear_in_g(c, second_of_sigmoid); }, tile_gate_grad)),
    within(tolerance::derivative,
           gradient_helper(
               "gelu_grad", "GeluGrad", "g times the derivative of gelu at x.", gradient_x_params, reference::gelu_grad,
               pairwise<Binary::gelu_grad>, [](GradContext& c) { linear_in_g(c, second_of_gelu); }, tile_gelu_grad)),
    within(tolerance::derivative, gradient_helper(
                                      "geluerf_grad", "GeluErfGrad", "g times the derivative of geluerf at x.",
                                      gradient_x_params, reference::geluerf_grad, pairwise<Binary::geluerf_grad>,
                                      [](GradContext& c) { linear_in_g(c, second_of_geluerf); }, tile_geluerf_grad)),
    within(tolerance::derivative, gradient_helper(
                                      "swish_grad", "SwishGrad", "g times the derivative of swish at x.",
                                      gradient_x_params, reference::swish_grad, pairwise<Binary::swish_grad>,
                                      [](GradContext& c) { linear_in_g(c, second_of_swish); }, tile_swish_grad)),
    within(tolerance::derivative,
           gradient_helper(
               "erf_grad", "ErfGrad", "g times the derivative of erf at x.", gradient_x_params, reference::erf_grad,
               pairwise<Binary::erf_grad>, [](GradContext& c) { linear_in_g(c, second_of_erf); }, tile_geluerf_grad)),
    within(
        tolerance::bits,
        ordered(orders::elementwise,
                gradient_helper(
                    "clip_grad", "ClipGrad", "g where min <= x <= max, else 0.", clip_grad_params, reference::clip_grad,
                    [](const OpContext& s) {
                      const TensorSpec& x = s.input(1);
                      return clip_grad_kernel(s.element("min", x.dtype), s.element("max", x.dtype), x.size());
                    },
                    [](GradContext& c) {
                      const OpContext s = c.site();
                      if (c.wants(0))
                        c.set(0, c.builder().one("clip_grad", {c.dy(), c.in(1)},
                                                 {{"min", s.attr("min")}, {"max", s.attr("max")}}));
                      set_zero(c, 1);
                    },
                    tile_gate_grad))),
    within(tolerance::derivative,
           ordered(orders::elementwise,
                   gradient_helper(
                       "gate_grad", "GateGrad", "g times `inside` where min <= x <= max, else times `outside`.",
                       gate_grad_params, reference::gate_grad,
                       [](const OpContext& s) {
                         return gate_grad_kernel(s.input(1).dtype, s.number("min"), s.number("max"), s.number("inside"),
                                                 s.number("outside"), s.input(1).size());
                       },
                       [](GradContext& c) {
                         const OpContext s = c.site();
                         if (c.wants(0))
                           c.set(0, c.builder().one("gate_grad", {c.dy(), c.in(1)},
                                                    {{"min", s.attr("min")},
                                                     {"max", s.attr("max")},
                                                     {"inside", s.attr("inside")},
                                                     {"outside", s.attr("outside")}}));
                         set_zero(c, 1);
                       },
                       tile_gate_grad))),
    within(
        tolerance::derivative, gradient_helper(
                                   "hard_swish_grad", "HardSwishGrad", "g times the derivative of hard_swish at x.",
                                   gradient_x_params, reference::hard_swish_grad, pairwise<Binary::hard_swish_grad>,
                                   [](GradContext& c) {
                                     if (c.wants(0)) c.set(0, c.builder().one("hard_swish_grad", {c.dy(), c.in(1)}));
                                     if (c.wants(1))
                                       c.set(1,
                                             c.builder().one(
                                                 "gate_grad", {c.dy() * c.in(0), c.in(1)},
                                                 {{"min", -3.0}, {"max", 3.0}, {"inside", 1.0 / 3}, {"outside", 0.0}}));
                                   },
                                   tile_gate_grad)),
};
static_assert(all_complete(activation_grad_table));

}  // namespace

std::span<const OpRow> activation_grad_rows() { return activation_grad_table; }

}  // namespace pxl
