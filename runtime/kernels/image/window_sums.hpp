// Sums of windows along a row, for averages. Compiled per instruction set and selected at start-up. A sum adds its
// elements in order, so that every set has the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

/// out[o] = sum over rows r, then elements k, of rows[r][first + o * stride + k * dilation], for begin <= o < end. All
/// elements are within the row.
struct WindowSums {
  const float* plane = nullptr;
  std::span<const int64_t> rows = {};  ///< offsets in the plane
  int64_t first = 0, kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  float* out = nullptr;
};

struct WindowFunctions {
  void (*sum)(const WindowSums&);
};

const WindowFunctions& window_functions_baseline();
std::span<const KernelVariant<WindowFunctions>> window_functions_variants();
/// The variant in use.
const WindowFunctions& window_functions();

}  // namespace pxl
