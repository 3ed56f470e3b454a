// Sliding windows along spatial axes, for convolution and pooling.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace pxl {

/// One spatial axis. `out` windows, `stride` apart, have `kernel` elements, `dilation` apart. The `in` input elements
/// are `in_dilation` apart, and follow `padding_before` elements of padding.
struct WindowAxis {
  int64_t in = 1, kernel = 1, stride = 1, dilation = 1, padding_before = 0, out = 1;
  int64_t in_dilation = 1;

  /// Position of window o's element k in the (dilated) input. Positions outside 0..in-1 are padding.
  int64_t place(int64_t o, int64_t k) const { return o * stride + k * dilation - padding_before; }
  /// The windows [first, last) whose element k is not padding. Requires in_dilation == 1.
  struct Range {
    int64_t first = 0, last = 0;
  };
  Range inside(int64_t k) const {
    const int64_t shift = padding_before - k * dilation;
    const int64_t first = shift <= 0 ? 0 : (shift + stride - 1) / stride;
    const int64_t end = in - 1 + shift;
    const int64_t last = end < 0 ? 0 : std::min(out, end / stride + 1);
    return {std::min(first, std::max<int64_t>(last, 0)), std::max<int64_t>(last, 0)};
  }
};

/// Up to three spatial axes, right-aligned; unused leading axes have extent 1.
using WindowAxes = std::array<WindowAxis, 3>;

inline int64_t input_size(const WindowAxes& a) { return a[0].in * a[1].in * a[2].in; }
inline int64_t kernel_size(const WindowAxes& a) { return a[0].kernel * a[1].kernel * a[2].kernel; }
inline int64_t output_size(const WindowAxes& a) { return a[0].out * a[1].out * a[2].out; }

}  // namespace pxl
