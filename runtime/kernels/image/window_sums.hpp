// Sums and maxima of windows, for pools. Compiled per instruction set and selected at start-up. A window's elements are
// taken in order, so that every set has the same bits.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

/// Windows o < n, `stride` apart, of `count` elements, at least one: element i of window o is starts[i][o * stride].
template <class T>
struct WindowRow {
  const T* const* starts = nullptr;
  int64_t count = 0, stride = 1, n = 0;
  T* out = nullptr;
};

template <class T>
struct WindowFunctionsOf {
  void (*sum)(const WindowRow<T>&, const T* weights);  ///< out[o] = weights[o] * sum of window o
  void (*max)(const WindowRow<T>&);                    ///< the largest elements, as larger (extremes.hpp) has them
};

struct WindowFunctions {
  WindowFunctionsOf<float> singles;
  WindowFunctionsOf<double> doubles;
};

const WindowFunctions& window_functions_baseline();
std::span<const KernelVariant<WindowFunctions>> window_functions_variants();
/// The variant in use.
const WindowFunctions& window_functions();

}  // namespace pxl
