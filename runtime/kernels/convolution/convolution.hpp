// Convolutions (cross-correlations) over one to three spatial axes, and their gradients, as im2col and GEMM. float16 is
// computed in float32 and rounded once. The partition into tiles depends on shapes only, so results have the same bits
// on any number of threads.
#pragma once

#include "runtime/kernels/block/finish.hpp"
#include "runtime/kernels/convolution/window_axis.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// x [batch, groups * cin, in...], weight [groups * cout, cin, kernel...], y [batch, groups * cout, out...].
struct Convolution {
  int64_t batch = 1, groups = 1, cin = 1, cout = 1;
  WindowAxes axes = {};
  SumFinish finish = {};  ///< of the outputs, in float32
};

/// in: x, weight, and with `bias` one value per result channel, which is added to the finished sums; out: y. The
/// kernels of float32 and float64 give it in parts, and so do those of data gradients. Float32 has
/// finishes (Kernel).
Kernel convolution_kernel(DType dtype, const Convolution& c, bool bias = false);
/// in: dy, weight, and with `bias` a bias; out: dx. Also the transposed convolution of dy.
Kernel convolution_data_grad_kernel(DType dtype, const Convolution& c, bool bias = false);
/// in: x (or dy) and weight of float8 dtypes, log2_scale (int32 scalar); out: float16, the result times 2^log2_scale,
/// rounded once. Throws a run-time Error unless log2_scale is in [-32, 32).
Kernel convolution_float8_kernel(DType x, DType weight, const Convolution& c);
Kernel convolution_data_grad_float8_kernel(DType dy, DType weight, const Convolution& c);
/// in: dy, x; out: dweight.
Kernel convolution_weights_grad_kernel(DType dtype, const Convolution& c);

}  // namespace pxl
