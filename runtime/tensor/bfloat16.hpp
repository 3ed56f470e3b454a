// Rounding to bfloat16 of wider numbers, which keep their dtype.
#pragma once

#include <algorithm>
#include <cmath>

#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// The nearest bfloat16, ties to even; numbers beyond the largest become infinite.
inline float nearest_bfloat16(float value) { return static_cast<float>(bfloat16(value)); }
inline double nearest_bfloat16(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  constexpr int significant_bits = 8, min_exponent = -133, max_exponent = 128;
  int exponent = 0;  // value = m 2^exponent with m in [0.5, 1)
  std::frexp(value, &exponent);
  const int unit = std::max(exponent - significant_bits, min_exponent);
  const double nearest = std::ldexp(std::nearbyint(std::ldexp(value, -unit)), unit);
  return std::abs(nearest) < std::ldexp(1.0, max_exponent) ? nearest : std::copysign(INFINITY, value);
}

}  // namespace pxl
