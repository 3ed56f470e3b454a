// bfloat16: the upper half of a float32. It is a format of files and of rounding, not a dtype.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace pxl {

/// The bits of the nearest bfloat16, ties to even; NaN stays NaN.
inline uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  constexpr uint32_t quiet = 0x40;
  const uint32_t nearest = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
  return static_cast<uint16_t>(value != value ? bits >> 16 | quiet : nearest);
}

/// The nearest bfloat16, ties to even; numbers beyond the largest become infinite.
inline float nearest_bfloat16(float value) { return std::bit_cast<float>(uint32_t{bfloat16_bits(value)} << 16); }
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
