// What a kernel does with a finished sum, before it stores it.
#pragma once

#include <cstdint>
#include <limits>

namespace pxl {

/// The ops after the sums of a kernel and their bias: an addend, then bounds or an activation.
struct SumFinish {
  /// Not NaN, low <= high. A lower bound of 0 makes -0 to 0; a lower bound of -0 and an upper one of 0 are not allowed.
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
  bool adds = false;        ///< a tensor of the result's shape, the operand after the bias
  bool hard_swish = false;  ///< of sums without bounds
};

/// Adds the bias of the sum's row and the addend, and then takes the sum into bounds, or its activation. NaN stays NaN.
struct Finish : SumFinish {
  const float* bias = nullptr;    ///< one a row; null: none
  const float* addend = nullptr;  ///< one a sum, as far from the first one as the result from its first; null: none

  /// The finish of the sums from `row` on, whose results begin `distance` numbers after the first.
  Finish from(int64_t row, int64_t distance) const {
    return {SumFinish(*this), bias ? bias + row : nullptr, addend ? addend + distance : nullptr};
  }
};
/// Whether a sum may change.
inline bool is_needed(const Finish& f) {
  constexpr float all = std::numeric_limits<float>::infinity();
  return f.bias || f.addend || f.hard_swish || f.low > -all || f.high < all;
}

}  // namespace pxl
