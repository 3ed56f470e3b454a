// Weights stored as whole numbers of few bits, with a scale for each group of rows and column.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: weights int8 [k, n], or with `packed` uint8 [k / 2, n], of which row i has rows 2 i (low four bits) and 2 i + 1
/// (high four bits), each 8 more than it is; scales, float16, bfloat16 or float32, [ceil(k / group), n]. out: [k, n],
/// the weights times the scales of their rows' groups, rounded once. Elementwise; a product of few rows widens the
/// weights itself.
Kernel dequantise_kernel(const TensorSpec& weights, const TensorSpec& scales, bool packed, int64_t group);

/// Where the scale and the zero point of an element are: one for all (`parameters` 1), or one for each place along an
/// axis of `parameters` elements, of which each has `inner` elements in a row.
struct LinearQuantisation {
  int64_t size = 0, parameters = 1, inner = 1;
  bool has_zero = false;
};
/// in: t (floating), scale (t's dtype), zero point (any integers, or none): round(t / scale) + zero, to nearest even,
/// limited to the range of `out`, int8 or uint8; NaN gives 0. Computed in float32, float64 in float64.
Kernel quantize_linear_kernel(DType t, DType zero, DType out, const LinearQuantisation& q);
/// in: t (integers), scale (floating), zero point (integers, or none): (t - zero) scale, in the scale's dtype.
Kernel dequantize_linear_kernel(DType t, DType zero, DType scale, const LinearQuantisation& q);
/// n elements of float32 or float64 to the nearest bfloat16 of the same dtype.
Kernel round_to_bfloat16_kernel(DType dtype, int64_t n);

}  // namespace pxl
