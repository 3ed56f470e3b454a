// float8: casts with a power-of-two scale, and matrix products.
#include "runtime/ops/elementwise/float8.hpp"

#include <fmt/format.h>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/elementwise/float8.hpp"
#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param scale_param{
    "log2_scale", ParamKind::index, no_default,
    "an int32 scalar in -32..31: the exponent of the power of two that values are multiplied by"};
constexpr Param overflow_param{
    "nan_on_overflow", ParamKind::boolean, of(true),
    "values beyond the range become NaN, or infinite in float8_e5m2; otherwise they saturate"};
constexpr Param to_params[] = {{"t", ParamKind::tensor, no_default, "floats"},
                               scale_param,
                               {"data_type", ParamKind::dtype, no_default, "a float8 dtype"},
                               overflow_param};
constexpr Param from_params[] = {{"t", ParamKind::tensor, no_default, "float8"},
                                 scale_param,
                                 {"data_type", ParamKind::dtype, of(DType::float16), "a floating dtype"}};
constexpr Param amax_params[] = {{"src", ParamKind::tensor},
                                 {"dtype", ParamKind::dtype, of(DType::float8_143), "a float8 dtype"}};
constexpr Param float8_matmul_params[] = {{"lhs", ParamKind::tensor, no_default, "float8"},
                                          {"rhs", ParamKind::tensor, no_default, "float8"},
                                          log2_scale_param};

void check_scale(const OpContext& s, size_t slot) {
  const TensorSpec& scale = s.input(slot);
  if (scale.dtype != DType::int32 || scale.size() != 1)
    refuse(s, fmt::format("log2_scale must be an int32 scalar, not {}", text(scale)),
           scale.dtype != DType::int32 ? codes::dtype : codes::shape);
}

void check_float8(const OpContext& s, size_t slot) {
  const DType dtype = s.input(slot).dtype;
  if (!is_float8(dtype))
    refuse(s,
           fmt::format("{} must be of a float8 dtype, not {}; pow2scale_cast_to_fp8 makes it of float16", s.label(slot),
                       name(dtype)),
           codes::dtype);
}

DType float8_attr(const OpContext& s, std::string_view param) {
  const DType to = s.dtype(param);
  if (!is_float8(to)) refuse(s, fmt::format("{} must be a float8 dtype, not {}", param, name(to)), codes::dtype);
  return to;
}

std::vector<TensorSpec> infer_to(const OpContext& s) {
  check_floating(s, 0);
  check_scale(s, 1);
  return {{s.input(0).shape, float8_attr(s, "data_type"), {}}};
}

std::vector<TensorSpec> infer_from(const OpContext& s) {
  check_float8(s, 0);
  check_scale(s, 1);
  const DType to = s.dtype("data_type");
  if (!is_floating(to)) refuse(s, fmt::format("data_type must be a floating dtype, not {}", name(to)), codes::dtype);
  return {{s.input(0).shape, to, {}}};
}

Float8Overflow overflow_of(bool nan) { return nan ? Float8Overflow::nan : Float8Overflow::saturate; }

constexpr OpRow float8_ops_table[] = {
    {.name = "pow2scale_cast_to_fp8",
     .path = "ops.pow2scale_cast_to_fp8",
     .schedule = "Pow2ScaleThenCast",
     .output = "{0}_{dtype}",
     .doc = "Converts floats to float8: multiplies by 2^log2_scale, then rounds to nearest even. NaN stays NaN, -0 "
            "becomes 0.",
     .formula = "round(t 2^log2_scale)",
     .example = "pow2scale_cast_to_fp8(array([0.1, 1.0, -3.3], float16), 2, float8_143)",
     .params = to_params,
     .infer = infer_to,
     .definition = reference::pow2scale_cast_to_fp8,
     .kernel =
         [](const OpContext& s) {
           return cast_to_float8_kernel(s.input(0).dtype, s.out[0].dtype, s.out[0].size(),
                                        overflow_of(s.boolean("nan_on_overflow")));
         },
     .pattern = Pattern::elementwise,
     .order = orders::whole,
     .checks_indices = checks_values,
     .tiles = tile_cast},
    {.name = "pow2scale_cast_from_fp8",
     .path = "ops.pow2scale_cast_from_fp8",
     .schedule = "CastThenPow2Scale",
     .output = "{0}_{dtype}",
     .doc = "Converts float8 to floats and multiplies by 2^log2_scale. A scale of -s undoes a cast to float8 with the "
            "scale s.",
     .formula = "t 2^log2_scale",
     .example = "pow2scale_cast_from_fp8(pow2scale_cast_to_fp8(array([0.1, 1.0, -3.3], float16), 2, float8_143), -2)",
     .params = from_params,
     .infer = infer_from,
     .definition = reference::pow2scale_cast_from_fp8,
     .kernel =
         [](const OpContext& s) { return cast_from_float8_kernel(s.input(0).dtype, s.out[0].dtype, s.out[0].size()); },
     .pattern = Pattern::elementwise,
     .order = orders::whole,
     .checks_indices = checks_values,
     .tiles = tile_cast},
    {.name = "fp8_amax_scale",
     .path = "addons.ops.fp8_amax_scale",
     .schedule = "Fp8AmaxScale",
     .output = "fp8_amax_scale_out",
     .doc = "The largest log2_scale with which a float8 dtype can represent the maximum absolute value of a tensor: an "
            "int32 scalar in -32..31, or 0 if all elements are 0 or one is not finite.",
     .formula = "floor(log2(max of dtype / max |src|))",
     .example = "fp8_amax_scale(array([0.5, -3.0]))",
     .params = amax_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           float8_attr(s, "dtype");
           return std::vector<TensorSpec>{{{}, DType::int32, {}}};
         },
     .definition = reference::fp8_amax_scale,
     .kernel =
         [](const OpContext& s) { return amax_scale_kernel(s.input(0).dtype, s.dtype("dtype"), s.input(0).size()); },
     .pattern = Pattern::reduction,
     .tiles = tile_reduction},
    {.name = "matmul_pow2scaled",
     .path = "ops.matmul_pow2scaled",
     .schedule = "MatMul",
     .output = "matmul_pow2scaled_out",
     .doc = "The matrix product of float8 operands in any combination of formats, times 2^log2_scale, in float16; "
            "shapes as in matmul. Accumulates in float32 and rounds once at the end.",
     .formula = "(lhs @ rhs) 2^log2_scale",
     .example = "matmul_pow2scaled(pow2scale_cast_to_fp8(array([[1.0, 2.0]], float16), 0, float8_143), "
                "pow2scale_cast_to_fp8(array([3.0, 4.0], float16), 0, float8_152), -1)",
     .params = float8_matmul_params,
     .infer =
         [](const OpContext& s) {
           check_float8_product(s);
           return infer_product(s, DType::float16);
         },
     .definition = reference::matmul_pow2scaled,
     .kernel = [](const OpContext& s) { return matmul_float8_kernel(s.input(0), s.input(1), s.out[0]); },
     .flops = matmul_flops,
     .pattern = Pattern::product,
     .checks_indices = checks_values,
     .tiles = tile_product},
};
static_assert(all_complete(float8_ops_table));

}  // namespace

void check_float8_product(const OpContext& s) {
  for (const size_t slot : {0, 1}) {
    check_float8(s, slot);
    if (const DType dtype = s.input(slot).dtype; !narrow_format(dtype))
      refuse(s,
             fmt::format("{} is {}, which stores numbers without products; "
                         "pow2scale_cast_from_fp8 makes it float16",
                         s.label(slot), name(dtype)),
             codes::dtype);
  }
  check_scale(s, 2);
}

std::span<const OpRow> float8_rows() { return float8_ops_table; }

}  // namespace pxl
