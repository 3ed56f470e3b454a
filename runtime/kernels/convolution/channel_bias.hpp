// Channel biases, added to result planes that a kernel has just written.
#pragma once

#include <cstdint>

namespace pxl {

/// y[k * stride + i] += bias[k] for k < channels and i < n.
template <class T>
void add_channel_bias(const T* __restrict bias, int64_t channels, int64_t stride, int64_t n, T* __restrict y) {
  for (int64_t k = 0; k < channels; ++k, y += stride) {
    const T value = bias[k];
    for (int64_t i = 0; i < n; ++i) y[i] += value;
  }
}

}  // namespace pxl
