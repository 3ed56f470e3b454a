// Discrete Fourier transforms of any length, by KissFFT in float64.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in and out: [.., n, 2], real and imaginary parts, float32 or float64. The sum over j of x[j] e^(-2 pi i j k / n), or
/// with e^(2 pi i j k / n) if `inverse`; neither is scaled. A line is the work of one thread. The time is O(n log n)
/// for any n. No kernel for other dtypes.
Kernel fourier_kernel(const TensorSpec& t, bool inverse);

}  // namespace pxl
