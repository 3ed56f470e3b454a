// A tensor within a larger one: padding, and the gradient of a slice.
#pragma once

#include "runtime/kernels/elementwise/elementwise.hpp"

namespace pxl {

/// Places in[0] at `starts` in a result with shape `out`, whose other elements are `value`. One pass, in order. The
/// window fits; `in` has elements and axes.
Kernel frame_kernel(const TensorSpec& in, const std::vector<int64_t>& starts, const Element& value, const Shape& out);

}  // namespace pxl
