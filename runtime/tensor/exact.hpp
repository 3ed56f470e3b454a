// Conversions of elements. The implicit one, of numbers and host data, rounds to nearest and rejects values that the
// new dtype cannot represent; the explicit one is Array::cast.
#pragma once

#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// Whether `To` represents `value` up to floating-point rounding: integers accept whole numbers in range, bool accepts
/// 0 and 1, floats accept values that stay finite, infinities and NaN.
template <class To, class From>
bool holds(From value) {
  if constexpr (is_narrow_v<From>) {
    return holds<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value == From{0} || value == From{1};
  } else if constexpr (std::is_same_v<From, bool>) {  // NOLINT(bugprone-branch-clone): the types differ
    return true;
  } else if constexpr (std::is_integral_v<To> && std::is_integral_v<From>) {
    return std::in_range<To>(value);
  } else if constexpr (std::is_integral_v<To>) {
    // Both bounds are powers of two (or 0): exact in From. A NaN fails the comparisons.
    const From low = static_cast<From>(std::numeric_limits<To>::min());
    const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    return value >= low && value < high && std::trunc(value) == value;
  } else if constexpr (is_narrow_v<To>) {
    const double magnitude = std::abs(static_cast<double>(value));
    return !(magnitude >= row(dtype_of<To>()).infinite) || std::isinf(magnitude);
  } else if constexpr (std::is_same_v<To, float> && std::is_same_v<From, double>) {
    return !std::isinf(static_cast<float>(value)) || std::isinf(value);
  } else {
    return true;
  }
}

/// A float32 next to the number, rounded to odd: its last bit is odd unless it equals the number. Rounding it to fewer
/// digits gives the number rounded once.
float odd_float(double value);
float odd_float(int64_t value);
float odd_float(uint64_t value);

/// The conversion of one element, as Array::cast makes it: rounded to nearest in floats, truncated and saturating in
/// integers; NaN becomes 0. In C++ a float outside the integer's range is undefined.
template <class To, class From>
To cast_element(From value) {
  if constexpr (is_narrow_v<From>) {
    return cast_element<To>(static_cast<float>(value));
  } else if constexpr (is_narrow_v<To>) {
    if constexpr (std::is_same_v<From, double>)
      return To(odd_float(value));
    else if constexpr (std::is_integral_v<From> && sizeof(From) >= sizeof(float))
      return To(odd_float(static_cast<std::conditional_t<std::is_signed_v<From>, int64_t, uint64_t>>(value)));
    else
      return To(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bool>) {
    return value != From{};
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value)) return To{0};
    // Both bounds are powers of two (or 0): exact in float.
    constexpr From low = static_cast<From>(std::numeric_limits<To>::min());
    const From high = std::ldexp(From{1}, std::numeric_limits<To>::digits);
    if (value <= low) return std::numeric_limits<To>::min();
    if (value >= high) return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

/// Converts `data`. Throws Error (`code`) "WHAT: VALUE cannot become DTYPE: REASON" for the first element that the
/// dtype cannot represent; without the prefix if `what` is empty.
Array convert_exactly(const Array& data, DType dtype, std::string_view what, std::string_view code = codes::value);

/// Throws the error of convert_exactly for a single value.
[[noreturn]] void refuse_value(double value, DType dtype, std::string_view what, std::string_view code = codes::value);
[[noreturn]] void refuse_value(int64_t value, DType dtype, std::string_view what, std::string_view code = codes::value);
[[noreturn]] void refuse_value(uint64_t value, DType dtype, std::string_view what,
                               std::string_view code = codes::value);

}  // namespace pxl
