#include "runtime/tensor/exact.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/budget.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

/// Index of the first element that `to` cannot represent, or -1.
int64_t first_unfit(const Array& data, DType to) {
  return with_type(data.dtype(), [&]<class From>(type_tag<From>) {
    return with_type(to, [&]<class To>(type_tag<To>) -> int64_t {
      const From* values = data.data<From>();
      int64_t found = -1;
      charged_chunks(data.size(), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; found < 0 && i < end; ++i)
          if (!holds<To>(values[i])) found = i;
      });
      return found;
    });
  });
}

std::string range_text(DType dtype) {
  if (dtype == DType::boolean) return "it is neither 0 nor 1";
  return with_type(dtype, [&]<class T>(type_tag<T>) -> std::string {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      return fmt::format("it is not in {}..{}", std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    return "it is too large";
  });
}

[[noreturn]] void refuse_text(const std::string& value, bool fraction, DType dtype, std::string_view what,
                              std::string_view code) {
  const bool drops = fraction && is_integer(dtype);
  throw Error(fmt::format("{}{}{} cannot become {}: {}", what, what.empty() ? "" : ": ", value, name(dtype),
                          drops ? "it is not a whole number" : range_text(dtype)),
              {is_floating(dtype)        ? "a wider dtype holds it"
               : dtype == DType::boolean ? "`x != 0` is the bools of numbers x"
               : drops                   ? fmt::format("`array(x, {})` drops fractions, `round(x)` rounds", name(dtype))
                                         : "a wider dtype holds it"})
      .as(code);
}

}  // namespace

void refuse_value(double value, DType dtype, std::string_view what, std::string_view code) {
  refuse_text(number_text(value), std::trunc(value) != value, dtype, what, code);
}

void refuse_value(int64_t value, DType dtype, std::string_view what, std::string_view code) {
  refuse_text(std::to_string(value), false, dtype, what, code);
}

void refuse_value(uint64_t value, DType dtype, std::string_view what, std::string_view code) {
  refuse_text(std::to_string(value), false, dtype, what, code);
}

float odd_float(double value) {
  float f = static_cast<float>(value);
  if (double back = f; back != value && std::isfinite(f) && !std::isnan(value)) {
    uint32_t bits = std::bit_cast<uint32_t>(f);
    if (!(bits & 1u)) {
      bool too_large = std::fabs(back) > std::fabs(value);
      bits = too_large ? bits - 1 : bits + 1;
    }
    f = std::bit_cast<float>(bits);
  }
  return f;
}

float odd_float(uint64_t value) {
  constexpr int digits = 24;
  const int dropped = std::max(0, static_cast<int>(std::bit_width(value)) - digits);
  const uint64_t kept = value >> dropped, rest = value & ((uint64_t{1} << dropped) - 1);
  return std::ldexp(static_cast<float>(kept | (rest != 0 ? 1 : 0)), dropped);
}
float odd_float(int64_t value) {
  const auto magnitude = static_cast<uint64_t>(value);
  return value < 0 ? -odd_float(uint64_t{0} - magnitude) : odd_float(magnitude);
}

Array convert_exactly(const Array& data, DType dtype, std::string_view what, std::string_view code) {
  if (data.dtype() == dtype) return data;
  if (is_float8(data.dtype()) || is_float8(dtype))
    throw Error(fmt::format("{}{}expected {}, got {}", what, what.empty() ? "" : ": ", name(dtype), name(data.dtype())),
                {"host_pow2scale_cast_to_fp8 and host_pow2scale_cast_from_fp8 convert arrays to float8 and back"})
        .as(code);
  // Omitted elements cannot be checked.
  if (!data.has_elements()) return data.cast(dtype);
  if (const int64_t i = first_unfit(data, dtype); i >= 0) {
    if (is_floating(data.dtype())) refuse_value(data.number(i), dtype, what, code);
    if (data.dtype() == DType::uint64) refuse_value(data.data<uint64_t>()[i], dtype, what, code);
    refuse_value(data.integer(i), dtype, what, code);
  }
  return data.cast(dtype);
}

}  // namespace pxl
