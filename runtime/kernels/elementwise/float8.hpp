// Casts between floats and float8 with a power-of-two scale, and the largest scale that avoids overflow.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {

/// The int32 scalar in a slot. Throws a run-time Error unless the scalar is in [-32, 32).
int64_t read_log2_scale(const Buffers& b, size_t slot);

/// in: `from` (floating), int32 scalar; out: t 2^log2_scale, rounded once.
Kernel cast_to_float8_kernel(DType from, DType to, int64_t n, Float8Overflow overflow);
/// in: float8, int32 scalar; out: `to` (floating), t 2^log2_scale, rounded once.
Kernel cast_from_float8_kernel(DType from, DType to, int64_t n);
/// in: `dtype` (float16, float32 or float64); out: an int32 scalar in [-32, 31]: the greatest log2_scale that keeps the
/// largest absolute value within the range of `to`. It is 0 if all elements are 0 or one is not finite.
Kernel amax_scale_kernel(DType dtype, DType to, int64_t n);

}  // namespace pxl
