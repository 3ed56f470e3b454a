// Numbers of 8 bits with a scale and a zero point, for the whole tensor or for each place along an axis, and rounding
// to bfloat16.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param linear_scale_param{"scale", ParamKind::tensor, no_default,
                                   "one number, or one for each place along the axis"};
constexpr Param zero_param{"zero_point", ParamKind::index, none_default,
                           "the quantized value of 0, in the shape of the scale"};
constexpr Param axis_param{"axis", ParamKind::integer, of(1), "of scales with several elements"};
constexpr Param quantize_params[] = {
    {"t", ParamKind::tensor},
    linear_scale_param,
    zero_param,
    axis_param,
    {"dtype", ParamKind::dtype, of(DType::uint8), "int8 or uint8; a zero point of one of these comes first"}};
constexpr Param dequantize_params[] = {{"t", ParamKind::index}, linear_scale_param, zero_param, axis_param};

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

DType stored_dtype(const OpContext& s) {
  if (s.has(2) && is_byte(s.input(2).dtype)) return s.input(2).dtype;
  return s.dtype("dtype");
}

LinearQuantisation quantisation_of(const OpContext& s) {
  const Shape& t = s.input(0).shape;
  LinearQuantisation q{.size = s.input(0).size(), .has_zero = s.has(2)};
  if (s.input(1).size() == 1) return q;
  const auto axis = static_cast<size_t>(axis_of(s, "axis", std::ssize(t)));
  q.parameters = t[axis];
  for (size_t i = axis + 1; i < t.size(); ++i) q.inner *= t[i];
  return q;
}

void check_parameters(const OpContext& s) {
  const TensorSpec &t = s.input(0), &scale = s.input(1);
  check_floating(s, 1);
  if (scale.size() != 1 || scale.shape.size() > 1) {
    const auto axis = static_cast<size_t>(axis_of(s, "axis", rank_of(t)));
    if (scale.shape != Shape{t.shape[axis]})
      refuse(s,
             fmt::format("{} must have one element, or the {} of axis {} of {}; its shape is {}", s.label(1),
                         t.shape[axis], axis, s.label(0), bracket_text(scale.shape)),
             codes::shape);
  }
  if (!s.has(2)) return;
  check_integers(s, 2);
  if (s.input(2).size() != scale.size()) check_shape(s, 2, scale.shape);
}

std::vector<TensorSpec> infer_quantize(const OpContext& s) {
  check_floating(s, 0);
  check_parameters(s);
  check_same_dtype(s, 0, 1);
  if (!is_byte(stored_dtype(s)))
    refuse(s, fmt::format("the dtype must be int8 or uint8, not {}", name(stored_dtype(s))), codes::dtype);
  return {{s.input(0).shape, stored_dtype(s), {}}};
}

std::vector<TensorSpec> infer_dequantize(const OpContext& s) {
  check_integers(s, 0);
  constexpr size_t widest = 4;  // bytes
  for (size_t slot : {0, 2})
    if (s.has(slot) && size_of(s.input(slot).dtype) > widest)
      refuse(s, fmt::format("{} must have at most 32 bits, not {}", s.label(slot), name(s.input(slot).dtype)),
             codes::dtype);
  check_parameters(s);
  return {{s.input(0).shape, s.input(1).dtype, {}}};
}

std::vector<TensorSpec> infer_round(const OpContext& s) {
  const DType dtype = s.input(0).dtype;
  if (dtype != DType::float32 && dtype != DType::float64)
    refuse(s, fmt::format("{} must be float32 or float64, not {}: cast it to float32", s.label(0), name(dtype)),
           codes::dtype);
  return {s.input(0)};
}

// The scale's gradient sums dy times the elements that the scale multiplied.
void dequantize_gradient(GradContext& c) {
  if (!c.wants(1)) return;
  const TensorSpec &t = c.in_spec(0), &scale = c.in_spec(1);
  Shape each(t.shape.size(), 1);
  std::vector<int64_t> summed;
  const int64_t rank = rank_of(t);
  const int64_t axis = scale.size() == 1 ? -1 : normalise_axis(c.site().integer("axis"), rank);
  for (int64_t i = 0; i < rank; ++i) {
    if (i == axis)
      each[static_cast<size_t>(i)] = t.shape[static_cast<size_t>(i)];
    else
      summed.push_back(i);
  }
  Expr from = cast(c.in(0), scale.dtype);
  if (c.op().inputs[2]) from = from - reshape(cast(c.in(2), scale.dtype), each);
  const Expr product = c.dy() * from;
  c.set(1, reshape(summed.empty() ? product : sum(product, summed, true), scale.shape));
}

constexpr OpRow linear_quantise_table[] = {
    {.name = "quantize_linear",
     .path = "ops.quantize_linear",
     .schedule = "QuantizeLinear",
     .output = "quantize_linear_out",
     .doc = "Numbers as 8 bits, rounded to nearest even and limited to the range of the dtype.",
     .formula = "round(t / scale) + zero_point",
     .example = "quantize_linear(array([0.0, 1.3, -9.0]), 0.5, 128)",
     .params = quantize_params,
     .infer = infer_quantize,
     .definition = reference::quantize_linear,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return quantize_linear_kernel(s.input(0).dtype, s.has(2) ? s.input(2).dtype : DType::int64, s.out[0].dtype,
                                         quantisation_of(s));
         },
     .order = orders::elementwise,
     .onnx = "QuantizeLinear",
     .tiles = tile_cast},
    {.name = "dequantize_linear",
     .path = "ops.dequantize_linear",
     .schedule = "DequantizeLinear",
     .output = "dequantize_linear_out",
     .doc = "The numbers that quantized ones with a scale and a zero point denote, in the dtype of the scale.",
     .formula = "(t - zero_point) scale",
     .example = "dequantize_linear(array([128, 131, 110]), array(0.5), 128)",
     .params = dequantize_params,
     .infer = infer_dequantize,
     .definition = reference::dequantize_linear,
     .tolerance = &tolerance::function,
     .kernel =
         [](const OpContext& s) {
           return dequantize_linear_kernel(s.input(0).dtype, s.has(2) ? s.input(2).dtype : DType::int64,
                                           s.input(1).dtype, quantisation_of(s));
         },
     .gradient = dequantize_gradient,
     .flops = [](const OpContext& s) { return 2 * s.out[0].size(); },
     .order = orders::elementwise,
     .onnx = "DequantizeLinear",
     .tiles = tile_cast},
    {.name = "round_to_bfloat16",
     .path = "ops.round_to_bfloat16",
     .schedule = "RoundToBfloat16",
     .output = "bfloat16_out",
     .doc = "The nearest number that bfloat16 has (the upper half of a float32), ties to even, in the operand's dtype. "
            "The "
            "gradient passes as through a cast.",
     .example = "round_to_bfloat16(array([1.0, 3.1415927, 0.1]))",
     .params = unary_params,
     .infer = infer_round,
     .definition = reference::round_to_bfloat16,
     .tolerance = &tolerance::bits,
     .kernel = [](const OpContext& s) { return round_to_bfloat16_kernel(s.input(0).dtype, s.input(0).size()); },
     .gradient =
         [](GradContext& c) {
           if (c.wants(0)) c.set(0, c.dy());
         },
     .pattern = Pattern::elementwise,
     .inplace_ok = true,
     .tiles = tile_cast},
};
static_assert(all_complete(linear_quantise_table));

}  // namespace

std::span<const OpRow> linear_quantise_rows() { return linear_quantise_table; }

}  // namespace pxl
