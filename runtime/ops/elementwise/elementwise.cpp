// Elementwise functions of one tensor, their in-place forms, and helpers of their gradients.
#include <limits>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/ops/elementwise/unary.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

// d/dx by a helper op of the gradient and the forward input (or output).
void with_input(GradContext& c, std::string_view helper) {
  if (c.wants(0)) c.set(0, c.builder().one(helper, {c.dy(), c.in(0)}));
}
void with_output(GradContext& c, std::string_view helper) {
  if (c.wants(0)) c.set(0, c.builder().one(helper, {c.dy(), c.out()}));
}

// Functions with zero derivative almost everywhere.
void zero_gradient(GradContext& c) { set_zero(c, 0); }

Expr call(GradContext& c, std::string_view op, const Expr& x) { return c.builder().one(op, {x}); }

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr Param clip_params[] = {{"t", ParamKind::tensor},
                                 {"min", ParamKind::element, of(-infinity), "lower bound"},
                                 {"max", ParamKind::element, of(infinity), "upper bound"}};
constexpr Param increment_params[] = {
    {"t", ParamKind::tensor}, {"increment", ParamKind::element}, {"modulus", ParamKind::element}};

constexpr OpRow exp_row = {.name = "exp",
                           .path = "ops.exp",
                           .schedule = "Exp",
                           .output = "exp_out",
                           .doc = "The exponential of each element.",
                           .formula = "e^t",
                           .example = "exp(array([-1.0, 0.0, 1.0]))",
                           .params = unary_params,
                           .infer = infer_same_float,
                           .definition = reference::exp,
                           .kernel = unary<Unary::exp>,
                           .gradient =
                               [](GradContext& c) {
                                 if (c.wants(0)) c.set(0, c.dy() * c.out());
                               },
                           .pattern = Pattern::elementwise,
                           .precision = Precision::kept,
                           .inplace_ok = true,
                           .inplace = "exp_",
                           .onnx = "Exp",
                           .tiles = tile_exp};

constexpr OpRow relu_row = {.name = "relu",
                            .path = "ops.relu",
                            .schedule = "Relu",
                            .output = "relu_out",
                            .doc = "Rectified linear unit: the maximum of each element and 0.",
                            .formula = "max(t, 0)",
                            .example = "relu(array([-1.0, 0.0, 1.0]))",
                            .params = unary_params,
                            .infer = infer_same_number,
                            .definition = reference::relu,
                            .tolerance = &tolerance::bits,
                            .kernel = unary<Unary::relu>,
                            .gradient = [](GradContext& c) { with_output(c, "relu_grad"); },
                            .pattern = Pattern::elementwise,
                            .inplace_ok = true,
                            .inplace = "relu_",
                            .onnx = "Relu",
                            .tiles = tile_relu};

constexpr OpRow gelu_row = {.name = "gelu",
                            .path = "ops.gelu",
                            .schedule = "Gelu",
                            .output = "gelu_out",
                            .doc = "The Gaussian error linear unit, by the tanh approximation.",
                            .formula = "0.5 t (1 + tanh(0.7978845608 (t + 0.044715 t^3)))",
                            .example = "gelu(array([-1.0, 0.0, 1.0]))",
                            .params = unary_params,
                            .infer = infer_same_float,
                            .definition = reference::gelu,
                            .tolerance = &tolerance::tail,
                            .kernel = unary<Unary::gelu>,
                            .gradient = [](GradContext& c) { with_input(c, "gelu_grad"); },
                            .pattern = Pattern::elementwise,
                            .inplace_ok = true,
                            .inplace = "gelu_",
                            .onnx = "Gelu",
                            .tiles = tile_gelu};

constexpr OpRow geluerf_row = {.name = "geluerf",
                               .path = "ops.geluerf",
                               .schedule = "GeluErf",
                               .output = "geluerf_out",
                               .doc = "The Gaussian error linear unit, by the exact formula with erf.",
                               .formula = "0.5 t (1 + erf(t / sqrt(2)))",
                               .example = "geluerf(array([-1.0, 0.0, 1.0]))",
                               .params = unary_params,
                               .infer = infer_same_float,
                               .definition = reference::geluerf,
                               .tolerance = &tolerance::tail,
                               .kernel = unary<Unary::geluerf>,
                               .gradient = [](GradContext& c) { with_input(c, "geluerf_grad"); },
                               .pattern = Pattern::elementwise,
                               .inplace_ok = true,
                               .inplace = "geluerf_",
                               .tiles = tile_geluerf};

constexpr OpRow swish_row = {.name = "swish",
                             .path = "ops.swish",
                             .schedule = "Swish",
                             .output = "swish_out",
                             .doc = "Each element times its sigmoid (also called SiLU).",
                             .formula = "t sigmoid(t)",
                             .example = "swish(array([-1.0, 0.0, 1.0]))",
                             .params = unary_params,
                             .infer = infer_same_float,
                             .definition = reference::swish,
                             .kernel = unary<Unary::swish>,
                             .gradient = [](GradContext& c) { with_input(c, "swish_grad"); },
                             .pattern = Pattern::elementwise,
                             .inplace_ok = true,
                             .inplace = "swish_",
                             .tiles = tile_swish};

constexpr OpRow increment_row = {.name = "increment_mod",
                                 .path = "ops.increment_mod",
                                 .schedule = "IncrementMod",
                                 .output = "increment_mod_out",
                                 .doc = "Adds `increment` and takes the remainder by `modulus`, both in t's dtype.",
                                 .formula = "(t + increment) mod modulus",
                                 .example = "increment_mod(array([0, 1, 2]), 1, 3)",
                                 .params = increment_params,
                                 .infer = infer_same_number,
                                 .definition = reference::increment_mod,
                                 .kernel =
                                     [](const OpContext& s) {
                                       const TensorSpec& t = s.input(0);
                                       return increment_mod_kernel(s.element("increment", t.dtype),
                                                                   s.element("modulus", t.dtype), t.size());
                                     },
                                 .pattern = Pattern::elementwise,
                                 .order = orders::whole,
                                 .inplace_ok = true,
                                 .inplace = "increment_mod_",
                                 .tiles = tile_unary};

void abs_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * call(c, "sign", c.in(0)));
}
void cos_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, -(c.dy() * call(c, "sin", c.in(0))));
}
void sin_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * call(c, "cos", c.in(0)));
}
void expm1_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * (c.out() + 1.0));
}
void log_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() / c.in(0));
}
void log1p_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() / (c.in(0) + 1.0));
}
void sqrt_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() / (c.out() * 2.0));
}
void rsqrt_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * (c.out() / c.in(0) * -0.5));
}
void square_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * (c.in(0) * 2.0));
}
void reciprocal_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, -(c.dy() * c.builder().one("square", {c.out()})));
}
void tanh_gradient(GradContext& c) { with_output(c, "tanh_grad"); }
void sigmoid_gradient(GradContext& c) { with_output(c, "sigmoid_grad"); }
void erf_gradient(GradContext& c) { with_input(c, "erf_grad"); }
void softplus_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, c.dy() * call(c, "sigmoid", c.in(0)));
}
void negate_gradient(GradContext& c) {
  if (c.wants(0)) c.set(0, -c.dy());
}

constexpr OpRow function(const RowText& text, InferFn infer, TileMap tiles, DefinitionFn definition, KernelFn kernel,
                         GradFn gradient) {
  OpRow row = described(text, unary_params, infer, definition, kernel, gradient, Pattern::elementwise, tiles);
  row.inplace_ok = true;
  return row;
}

constexpr OpRow elementwise_table[] = {
    within(tolerance::bits, function({"abs", "ops.abs", "Abs", "abs_out", "The absolute value of each element.", "|t|",
                                      "abs(array([-1.5, 0.0, 2.0]))", "Abs"},
                                     infer_same_number, tile_negate, reference::abs, unary<Unary::abs>, abs_gradient)),
    within(tolerance::bits,
           function({"ceil", "ops.ceil", "Ceil", "ceil_out", "Rounds each element up.", "ceil(t)",
                     "ceil(array([-1.5, 1.2]))", "Ceil"},
                    infer_same_number, tile_unary, reference::ceil, unary<Unary::ceil>, zero_gradient)),
    within(tolerance::bits,
           function({"floor", "ops.floor", "Floor", "floor_out", "Rounds each element down.", "floor(t)",
                     "floor(array([-1.5, 1.2]))", "Floor"},
                    infer_same_number, tile_unary, reference::floor, unary<Unary::floor>, zero_gradient)),
    within(tolerance::bits,
           function(
               {"round", "ops.round", "Round", "round_out", "Rounds each element to the nearest integer, ties to even.",
                "round(t)", "round(array([-1.5, 0.5, 1.2]))", "Round"},
               infer_same_number, tile_unary, reference::round, unary<Unary::round>, zero_gradient)),
    within(tolerance::bits,
           function({"sign", "ops.sign", "Sign", "sign_out", "The sign of each element: -1, 0 or 1.", "sign(t)",
                     "sign(array([-1.5, 0.0, 2.0]))", "Sign"},
                    infer_same_number, tile_unary, reference::sign, unary<Unary::sign>, zero_gradient)),
    function({"cos", "ops.cos", "Cos", "cos_out", "The cosine of each element, in radians.", "cos t",
              "cos(array([0.0, 1.0]))", "Cos"},
             infer_same_float, tile_trigonometric, reference::cos, unary<Unary::cos>, cos_gradient),
    function({"sin", "ops.sin", "Sin", "sin_out", "The sine of each element, in radians.", "sin t",
              "sin(array([0.0, 1.0]))", "Sin"},
             infer_same_float, tile_trigonometric, reference::sin, unary<Unary::sin>, sin_gradient),
    exp_row,
    in_place_form(exp_row, {"exp_", "ops.exp_", "ExpInplace", "exp_inplace_out"}),
    computes(Precision::kept,
             function({"expm1", "ops.expm1", "Expm1", "expm1_out", "e^t - 1, accurate near 0.", "e^t - 1",
                       "expm1(array([0.0, 1e-3]))"},
                      infer_same_float, tile_exp, reference::expm1, unary<Unary::expm1>, expm1_gradient)),
    computes(Precision::kept, function({"log", "ops.log", "Log", "log_out", "The natural logarithm of each element.",
                                        "ln t", "log(array([1.0, 2.0]))", "Log"},
                                       infer_same_float, tile_log, reference::log, unary<Unary::log>, log_gradient)),
    computes(Precision::kept,
             function({"log1p", "ops.log1p", "Log1p", "log1p_out", "ln(1 + t), accurate near 0.", "ln(1 + t)",
                       "log1p(array([0.0, 1e-3]))"},
                      infer_same_float, tile_log, reference::log1p, unary<Unary::log1p>, log1p_gradient)),
    {.name = "log2",
     .path = "ops.log2",
     .doc = "The base-2 logarithm of each element.",
     .formula = "ln t / ln 2",
     .example = "log2(array([1.0, 2.0, 8.0]))",
     .params = unary_params,
     .expand =
         [](OpBuilder& at, const OpArgs& args) {
           const Expr x = at.one("log", {args.expr(0)});
           return std::vector<Expr>{x / at.one("log", {at.scalar(2.0, x.dtype())})};
         },
     .role = Role::composite},
    within(tolerance::bits, function({"sqrt", "ops.sqrt", "Sqrt", "sqrt_out", "The square root of each element.",
                                      "sqrt(t)", "sqrt(array([0.0, 2.0, 4.0]))", "Sqrt"},
                                     infer_same_float, tile_sqrt, reference::sqrt, unary<Unary::sqrt>, sqrt_gradient)),
    computes(Precision::kept,
             function({"rsqrt", "ops.rsqrt", "Rsqrt", "rsqrt_out", "The reciprocal square root of each element.",
                       "1 / sqrt(t)", "rsqrt(array([1.0, 4.0]))"},
                      infer_same_float, tile_rsqrt, reference::rsqrt, unary<Unary::rsqrt>, rsqrt_gradient)),
    within(tolerance::bits,
           function({"square", "ops.square", "Square", "square_out", "The square of each element.", "t^2",
                     "square(array([-2.0, 3.0]))"},
                    infer_same_number, tile_square, reference::square, unary<Unary::square>, square_gradient)),
    computes(Precision::kept,
             function({"reciprocal", "ops.reciprocal", "Reciprocal", "reciprocal_out",
                       "The reciprocal of each element.", "1 / t", "reciprocal(array([2.0, 4.0]))", "Reciprocal"},
                      infer_same_float, tile_reciprocal, reference::reciprocal, unary<Unary::reciprocal>,
                      reciprocal_gradient)),
    function({"tanh", "ops.tanh", "Tanh", "tanh_out", "The hyperbolic tangent of each element.", "tanh t",
              "tanh(array([-1.0, 0.0, 1.0]))", "Tanh"},
             infer_same_float, tile_tanh, reference::tanh, unary<Unary::tanh>, tanh_gradient),
    function({"sigmoid", "ops.sigmoid", "Sigmoid", "sigmoid_out", "The logistic function of each element.",
              "1 / (1 + e^-t)", "sigmoid(array([-1.0, 0.0, 1.0]))", "Sigmoid"},
             infer_same_float, tile_sigmoid, reference::sigmoid, unary<Unary::sigmoid>, sigmoid_gradient),
    function({"erf", "ops.erf", "Erf", "erf_out", "The error function of each element.",
              "2 / sqrt(pi) * integral of e^(-s^2) from 0 to t", "erf(array([-1.0, 0.0, 1.0]))", "Erf"},
             infer_same_float, tile_erf, reference::erf, unary<Unary::erf>, erf_gradient),
    computes(Precision::kept,
             function({"softplus", "ops.softplus", "Softplus", "softplus_out", "A smooth approximation of relu.",
                       "ln(1 + e^t)", "softplus(array([-1.0, 0.0, 1.0]))", "Softplus"},
                      infer_same_float, tile_log, reference::softplus, unary<Unary::softplus>, softplus_gradient)),
    relu_row,
    in_place_form(relu_row, {"relu_", "ops.relu_", "ReluInplace", "relu_inplace_out"}),
    gelu_row,
    in_place_form(gelu_row, {"gelu_", "ops.gelu_", "GeluInplace", "gelu_inplace_out"}),
    geluerf_row,
    in_place_form(geluerf_row, {"geluerf_", "ops.geluerf_", "GeluErfInplace", "geluerf_inplace_out"}),
    swish_row,
    in_place_form(swish_row, {"swish_", "ops.swish_", "SwishInplace", "swish_inplace_out"}),
    within(tolerance::bits,
           function({"negate", "ops.negate", "Neg", "negate_out", "The negation of each element.", "-t",
                     "negate(array([-1.0, 2.0]))", "Neg"},
                    infer_same_number, tile_negate, reference::negate, unary<Unary::negate>, negate_gradient)),
    {.name = "clip",
     .path = "ops.clip",
     .schedule = "Clip",
     .output = "clip_out",
     .doc = "Clamps each element to the range min to max. An element at a bound keeps its gradient.",
     .formula = "min(max(t, min), max)",
     .example = "clip(array([-2.0, 0.5, 3.0]), -1.0, 1.0)",
     .params = clip_params,
     .infer =
         [](const OpContext& s) {
           if (s.number("min") > s.number("max")) refuse(s, "min is above max");
           return infer_same_number(s);
         },
     .definition = reference::clip,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           const TensorSpec& t = s.input(0);
           return clip_kernel(s.element("min", t.dtype), s.element("max", t.dtype), t.size());
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("clip_grad", {c.dy(), c.in(0)}, {{"min", s.attr("min")}, {"max", s.attr("max")}}));
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .onnx = "Clip",
     .tiles = tile_clamp},
    increment_row,
    in_place_form(increment_row,
                  {"increment_mod_", "ops.increment_mod_", "IncrementModInplace", "increment_mod_inplace_out"}),
};
static_assert(all_complete(elementwise_table));

}  // namespace

std::span<const OpRow> elementwise_rows() { return elementwise_table; }

}  // namespace pxl
