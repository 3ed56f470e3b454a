// Discrete Fourier transforms of any length, in float64.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in and out: complex numbers [..., n, ..., 2] of real and imaginary parts, float32 or float64. Along `axis`, which
/// counts without the parts: the sum over j of x[j] e^(-2 pi i j k / n), or with e^(2 pi i j k / n) if `inverse`;
/// neither is scaled. With `real` n above 0 one side has n real numbers along the axis and no parts: the operand, or
/// the result if `inverse`. The other side has n // 2 + 1 numbers, the half of the spectrum that determines the rest. A
/// thread computes eight lines at once, or one long line. The time is O(n log n) for any n. No kernel for other dtypes.
Kernel fourier_kernel(const TensorSpec& t, bool inverse, int64_t real = 0, int64_t axis = 0);

}  // namespace pxl
