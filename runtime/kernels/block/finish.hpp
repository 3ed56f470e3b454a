// What a kernel does with a finished sum, before it stores it.
#pragma once

#include <cstdint>
#include <limits>

namespace pxl {

/// The ops after the sums of a kernel and their bias.
struct SumFinish {
  /// Not NaN, low <= high. A lower bound of 0 makes -0 to 0; a lower bound of -0 and an upper one of 0 are not allowed.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};

/// Adds the bias of the sum's row, and then takes the sum into bounds. NaN stays NaN.
struct Finish : SumFinish {
  const float* bias = nullptr;  ///< one a row; null: none
};
/// Whether a sum may change.
inline bool is_needed(const Finish& f) {
  constexpr float all = std::numeric_limits<float>::infinity();
  return f.bias || f.low > -all || f.high < all;
}

}  // namespace pxl
