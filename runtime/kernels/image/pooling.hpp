// Max and average pooling, and their gradients. Padding is excluded (count_padding includes it in averages). A window
// of padding only yields -inf for max and 0 for average. Parallel over planes (samples times channels).
#pragma once

#include "runtime/kernels/convolution/window_axis.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// x [planes, in...], y [planes, out... + pads]. The windows' results are surrounded by `out_padding_before` and
/// `out_padding_after` zeros.
struct Pool {
  int64_t planes = 1;
  WindowAxes axes = {};
  std::array<int64_t, 3> out_padding_before = {}, out_padding_after = {};
  std::array<int64_t, 3> padding_after = {};  ///< after the input; later positions never count
  bool count_padding = false;                 ///< averages divide by the window's extent, padding included
  int64_t out_extent(size_t axis) const { return out_padding_before[axis] + axes[axis].out + out_padding_after[axis]; }
  int64_t out_size() const { return out_extent(0) * out_extent(1) * out_extent(2); }
};

/// in: x; out: y. Propagates NaN.
Kernel max_pool_kernel(DType dtype, const Pool& p);
/// in: t, x, both with x's spec; out, with y's spec: the elements of t at the (first) maxima of x's windows; 0 for
/// windows of padding.
Kernel max_pool_pick_kernel(DType dtype, const Pool& p);
/// in: g (of y's spec), x; out: zeros with g added at the (first) maxima of x's windows.
Kernel max_pool_grad_kernel(DType dtype, const Pool& p);
/// in: x; out: y.
Kernel average_pool_kernel(DType dtype, const Pool& p);
/// in: g; out: dx.
Kernel average_pool_grad_kernel(DType dtype, const Pool& p);

}  // namespace pxl
