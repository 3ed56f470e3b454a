// Weights stored as integers of few bits, with a scale for each column and group of rows.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: weights int8 [k, n], or with `packed` uint8 [k / 2, n]; scales, float16, bfloat16 or float32, [ceil(k / group),
/// n]. Row i of packed weights holds rows 2 i (low four bits) and 2 i + 1 (high four bits), each plus 8. out: [k, n],
/// the weights times the scales of their rows' groups, rounded once. Elementwise; a product with few rows widens the
/// weights itself.
Kernel dequantise_kernel(const TensorSpec& weights, const TensorSpec& scales, bool packed, int64_t group);

/// The place of an element's scale and zero point. There is one for all (`parameters` is 1), or one per place along an
/// axis with `parameters` elements. Each place has `inner` adjacent elements.
struct LinearQuantisation {
  int64_t size = 0, parameters = 1, inner = 1;
  bool has_zero = false;
};
/// in: t (floating), scale (t's dtype), zero point (any integers, or none); out: round(t / scale) + zero, to nearest
/// even, limited to the range of `out`, an integer of 8 or 16 bits; NaN gives 0. Computed in float32, or in float64 for
/// float64.
Kernel quantize_linear_kernel(DType t, DType zero, DType out, const LinearQuantisation& q);
/// in: t (integers), scale (floating), zero point (integers, or none); out: (t - zero) scale, in the scale's dtype.
Kernel dequantize_linear_kernel(DType t, DType zero, DType scale, const LinearQuantisation& q);
/// Rounds n elements in float32 or float64 to the nearest bfloat16 number, in the same dtype.
Kernel round_to_bfloat16_kernel(DType dtype, int64_t n);

}  // namespace pxl
