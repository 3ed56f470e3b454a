// Integers of 8 or 16 bits with a scale and a zero point, for the whole tensor or for each place along an axis.
// Products and convolutions of 8-bit integers with zero points (ONNX, operators MatMulInteger and ConvInteger).
// Rounding to bfloat16.
#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/kernels/gemm/integer_product.hpp"
#include "runtime/ops/row.hpp"
#include "runtime/ops/windows/convolution_shape.hpp"

namespace pxl {

namespace {

constexpr Param linear_scale_param{"scale", ParamKind::tensor, no_default,
                                   "one number, or one for each place along the axis"};
constexpr Param zero_param{"zero_point", ParamKind::index, none_default,
                           "the quantized value of 0, in the shape of the scale"};
constexpr Param axis_param{"axis", ParamKind::integer, of(1), "of scales with several elements"};
constexpr Param quantize_params[] = {{"t", ParamKind::tensor},
                                     linear_scale_param,
                                     zero_param,
                                     axis_param,
                                     {"dtype", ParamKind::dtype, of(DType::uint8),
                                      "int8, uint8, int16 or uint16; a zero point of one of these comes first"}};
constexpr Param dequantize_params[] = {{"t", ParamKind::index}, linear_scale_param, zero_param, axis_param};

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

bool fits_16_bits(DType dtype) { return is_integer(dtype) && size_of(dtype) <= 2; }

DType stored_dtype(const OpContext& s) {
  if (s.has(2) && fits_16_bits(s.input(2).dtype)) return s.input(2).dtype;
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
  if (!fits_16_bits(stored_dtype(s)))
    refuse(s, fmt::format("the dtype must be int8, uint8, int16 or uint16, not {}", name(stored_dtype(s))),
           codes::dtype);
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

constexpr Param whole_matmul_params[] = {
    {"lhs", ParamKind::own_tensor, no_default, "int8 or uint8 [.., m, k]"},
    {"rhs", ParamKind::own_tensor, no_default, "int8 or uint8 [.., k, n]"},
    {"lhs_zero", ParamKind::own_tensor, none_default, "one number of lhs's dtype, or [m]; none: 0"},
    {"rhs_zero", ParamKind::own_tensor, none_default, "one number of rhs's dtype, or [n]; none: 0"}};
constexpr Param whole_conv_params[] = {
    {"t", ParamKind::own_tensor, no_default, "int8 or uint8 [N, C_in, spatial...], one to three axes"},
    {"weight", ParamKind::own_tensor, no_default, "int8 or uint8 [C_out, C_in / groups, kernel...]"},
    {"t_zero", ParamKind::own_tensor, none_default, "one number of t's dtype, which padding has too; none: 0"},
    {"weight_zero", ParamKind::own_tensor, none_default, "one number of weight's dtype, or [C_out]; none: 0"},
    {"stride", ParamKind::shape, none_default, "one per axis, or one for all; none: 1"},
    {"padding", ParamKind::shape, none_default, "before each spatial axis, then after each; one value applies to all"},
    {"dilation", ParamKind::shape, none_default, "distance of the kernel's elements; none: 1"},
    {"groups", ParamKind::integer, of(1), "number of independent convolutions over groups of channels"},
    {"pad_type", ParamKind::string, of("not_set"), "not_set, same_upper, same_lower or valid"}};

void check_bytes(const OpContext& s, size_t slot) {
  if (!is_byte(s.input(slot).dtype))
    refuse(s, fmt::format("{} must be int8 or uint8, not {}", s.label(slot), name(s.input(slot).dtype)), codes::dtype);
}

/// Checks the zero point of an operand: one number, or one for each of `places`.
void check_zero(const OpContext& s, size_t slot, size_t operand, int64_t places) {
  if (!s.has(slot)) return;
  const TensorSpec &zero = s.input(slot), &of = s.input(operand);
  if (zero.dtype != of.dtype)
    refuse(
        s,
        fmt::format("{} must be {}, as {}, not {}", s.label(slot), name(of.dtype), s.label(operand), name(zero.dtype)),
        codes::dtype);
  if (zero.size() != 1 && zero.shape != Shape{places})
    refuse(s,
           places == 1
               ? fmt::format("{} must have one element; its shape is {}", s.label(slot), bracket_text(zero.shape))
               : fmt::format("{} must have one element or the shape [{}]; its shape is {}", s.label(slot), places,
                             bracket_text(zero.shape)),
           codes::shape);
}

ZeroPoints zeros_of(const OpContext& s) { return {s.has(2) ? s.input(2).size() : 0, s.has(3) ? s.input(3).size() : 0}; }

std::vector<TensorSpec> infer_integer_matmul(const OpContext& s) {
  check_bytes(s, 0);
  check_bytes(s, 1);
  std::vector<TensorSpec> out = infer_product(s, DType::int32);
  const Shape &a = s.input(0).shape, &b = s.input(1).shape;
  check_zero(s, 2, 0, a.size() > 1 ? a[a.size() - 2] : 1);
  check_zero(s, 3, 1, b.size() > 1 ? b.back() : 1);
  return out;
}

std::vector<TensorSpec> infer_integer_conv(const OpContext& s) {
  check_bytes(s, 0);
  check_bytes(s, 1);
  std::vector<TensorSpec> out = infer_conv(s);
  check_zero(s, 2, 0, 1);
  check_zero(s, 3, 1, out[0].shape[1]);
  return out;
}

constexpr OpRow linear_quantise_table[] = {
    {.name = "quantize_linear",
     .path = "ops.quantize_linear",
     .schedule = "QuantizeLinear",
     .output = "quantize_linear_out",
     .doc = "Numbers as 8 or 16 bits, rounded to nearest even and limited to the range of the dtype.",
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
    {.name = "matmul_integer",
     .path = "ops.matmul_integer",
     .schedule = "MatMulInteger",
     .output = "matmul_out",
     .doc = "The matrix product of 8-bit integers less their zero points, in int32. A sum beyond int32 wraps.",
     .formula = "(lhs - lhs_zero) @ (rhs - rhs_zero)",
     .example = "matmul_integer(cast(array([[130, 120]]), uint8), cast(array([[1, 2], [-3, 4]]), int8), "
                "cast(array(128), uint8))",
     .params = whole_matmul_params,
     .infer = infer_integer_matmul,
     .definition = reference::matmul_integer,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           const GemmShape shape = gemm_shape(s.input(0).shape, false, s.input(1).shape, false);
           return integer_matmul_kernel(shape, s.input(0).dtype, s.input(1).dtype, zeros_of(s));
         },
     .flops = matmul_flops,
     .pattern = Pattern::product,
     .order = orders::in_parts,
     .onnx = "MatMulInteger",
     .tiles = tile_product},
    {.name = "conv_integer",
     .path = "ops.conv_integer",
     .schedule = "ConvInteger",
     .output = "conv_out",
     .doc = "The convolution of 8-bit integers less their zero points, in int32. Padding adds nothing. A sum "
            "beyond int32 wraps.",
     .formula =
         "out[n, o, i] = sum over c, k of (t[n, c, stride i + dilation k - padding] - t_zero) (weight[o, c, k] - "
         "weight_zero[o])",
     .example = "conv_integer(cast(array([[[3, 4, 5]]]), uint8), cast(array([[[1, -1]]]), int8), "
                "cast(array(3), uint8), padding = 1)",
     .params = whole_conv_params,
     .infer = infer_integer_conv,
     .definition = reference::conv_integer,
     .tolerance = &tolerance::bits,
     .kernel =
         [](const OpContext& s) {
           return integer_convolution_kernel(resolve_conv(s).c, s.input(0).dtype, s.input(1).dtype, zeros_of(s));
         },
     .flops = [](const OpContext& s) { return convolution_flops(resolve_conv(s).c); },
     .pattern = Pattern::other,
     .order = orders::in_parts,
     .onnx = "ConvInteger",
     .tiles = tile_convolution},
};
static_assert(all_complete(linear_quantise_table));

}  // namespace

std::span<const OpRow> linear_quantise_rows() { return linear_quantise_table; }

}  // namespace pxl
