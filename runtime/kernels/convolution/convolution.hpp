// Convolutions (cross-correlations) over one to three spatial axes, and their gradients, as im2col and GEMM. float16 is
// computed in float32 and rounded once. The partition into tiles depends on shapes only, so results have the same bits
// on any number of threads.
#pragma once

#include <algorithm>

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

/// Whether the windows are the elements of the planes.
inline bool is_pointwise(const Convolution& c) {
  return std::ranges::all_of(c.axes, [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.padding_before == 0 && a.in == a.out;
  });
}

/// The number of operands that a kernel of outputs has.
inline size_t operands_of(const Convolution& c, bool bias) {
  return 2 + static_cast<size_t>(bias) + static_cast<size_t>(c.finish.adds);
}
/// The finish of its sums, from the first one.
inline Finish finish_of(const Buffers& b, const Convolution& c, bool bias) {
  return {c.finish, bias ? b.input<float>(2) : nullptr,
          c.finish.adds ? b.input<float>(operands_of(c, bias) - 1) : nullptr};
}

/// in: x, weight, with `bias` one value per result channel, and with `c.finish.adds` a tensor like y; out: y. The
/// kernels of float32 and float64 give it in parts, and so do those of data gradients. Float32 has finishes (Kernel).
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
