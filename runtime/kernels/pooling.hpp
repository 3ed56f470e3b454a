// Maxima and averages over windows, and their gradients. Padding does not count, unless an average is told to: a
// window that has nothing else gives -inf as its maximum and 0 as its average. Planes (samples and channels) are
// divided among threads.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/window_axis.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// x [planes, in...], y [planes, out... + pads]: `out_padding_before` and `out_padding_after` zeros lie around the
/// windows' results.
struct Pool {
  int64_t planes = 1;
  WindowAxes axes = {};
  std::array<int64_t, 3> out_padding_before = {}, out_padding_after = {};
  std::array<int64_t, 3> padding_after = {};  ///< padding behind each axis; what lies beyond it never counts
  bool count_padding = false;                 ///< averages divide by the window's extent, padding included
  int64_t out_extent(size_t axis) const { return out_padding_before[axis] + axes[axis].out + out_padding_after[axis]; }
  int64_t out_size() const { return out_extent(0) * out_extent(1) * out_extent(2); }
};

/// in: x; out: y. NaN is above everything.
Kernel max_pool_kernel(DType dtype, const Pool& p);
/// in: t, x, both of x's spec. The elements of t where x's windows have their (first) maxima; 0 for a window of
/// padding.
Kernel max_pool_pick_kernel(DType dtype, const Pool& p);
/// in: g (of y's spec), x. g added to where x's windows have their (first) maxima.
Kernel max_pool_grad_kernel(DType dtype, const Pool& p);
/// in: x; out: y.
Kernel average_pool_kernel(DType dtype, const Pool& p);
/// in: g; out: dx.
Kernel average_pool_grad_kernel(DType dtype, const Pool& p);

}  // namespace pxl
