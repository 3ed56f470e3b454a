// Checks and conversions of what a run is given.
#include "runtime/execute/streams.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "runtime/base/codes.hpp"
#include "runtime/tensor/print.hpp"

namespace pxl {

namespace {

template <class To, class From>
bool fits(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value == From{0} || value == From{1};
  } else if constexpr (std::is_integral_v<To>) {
    if (value < From{0}) {
      if constexpr (std::is_signed_v<To>)
        return static_cast<int64_t>(value) >= static_cast<int64_t>(std::numeric_limits<To>::min());
      return false;
    }
    return static_cast<uint64_t>(value) <= static_cast<uint64_t>(std::numeric_limits<To>::max());
  } else {
    return true;
  }
}

/// Index of the first element that `to` cannot hold, or -1.
int64_t first_unfit(const Array& data, DType to) {
  return with_type(data.dtype(), [&](auto from_tag) -> int64_t {
    using From = typename decltype(from_tag)::type;
    if constexpr (std::is_integral_v<From>) {
      return with_type(to, [&](auto to_tag) -> int64_t {
        using To = typename decltype(to_tag)::type;
        if constexpr (std::is_integral_v<To>) {
          const From* values = data.data<From>();
          for (int64_t i = 0; i < data.size(); ++i)
            if (!fits<To>(values[i])) return i;
        }
        return -1;
      });
    }
    return -1;
  });
}

/// Index of the first finite element that became infinite, or -1.
int64_t first_overflow(const Array& before, const Array& after) {
  for (int64_t i = 0; i < before.size(); ++i)
    if (std::isinf(after.number(i)) && std::isfinite(before.number(i))) return i;
  return -1;
}

std::string value_text(const Array& data, int64_t i) {
  return is_floating(data.dtype()) ? number_text(data.number(i)) : std::to_string(data.integer(i));
}

}  // namespace

Array convert_safely(const Array& data, DType dtype, const std::string& what) {
  if (data.dtype() == dtype) return data;
  if (is_float8(data.dtype()) || is_float8(dtype))
    throw Error(fmt::format("{}: expected {}, got {}", what, name(dtype), name(data.dtype())),
                {"host_pow2scale_cast_to_fp8 and host_pow2scale_cast_from_fp8 convert arrays to float8 and back"})
        .as(codes::stream);
  if (is_floating(data.dtype()) && !is_floating(dtype))
    throw Error(
        fmt::format("{}: expected {}, got {}, whose fractions would be lost", what, name(dtype), name(data.dtype())),
        {fmt::format("convert it first if that is meant: array(..., dtype = {})", name(dtype))})
        .as(codes::stream);
  const auto refuse = [&](int64_t i) {
    throw Error(fmt::format("{}: expected {}, got {} with the value {}, which {} cannot hold", what, name(dtype),
                            name(data.dtype()), value_text(data, i), name(dtype)))
        .as(codes::stream);
  };
  if (const int64_t i = first_unfit(data, dtype); i >= 0) refuse(i);
  Array converted = data.cast(dtype);
  if (is_floating(dtype) && size_of(dtype) < 8)
    if (const int64_t i = first_overflow(data, converted); i >= 0) refuse(i);
  return converted;
}

Shape host_shape(const Stream& stream, int64_t transfers) {
  Shape shape = stream.spec().shape;
  if (transfers != 1) shape.insert(shape.begin(), transfers);
  return shape;
}

Array prepare_input(const Stream& stream, int64_t transfers, const Array& data) {
  const Shape& sample = stream.spec().shape;
  if (transfers == 1 && data.shape() == sample && data.dtype() == stream.spec().dtype) return data;
  const Shape expected = host_shape(stream, transfers);
  const auto with = [&](std::initializer_list<int64_t> lead) {
    Shape shape(lead);
    shape.insert(shape.end(), sample.begin(), sample.end());
    return shape;
  };
  Shape folded = sample;
  if (!folded.empty()) folded[0] *= transfers;
  const bool accepted = data.shape() == expected || (!sample.empty() && data.shape() == folded) ||
                        data.shape() == with({transfers}) || data.shape() == with({transfers, 1});
  if (!accepted) {
    std::string takes = bracket_text(expected);
    if (transfers != 1 && !sample.empty()) takes += " or " + bracket_text(folded);
    std::vector<std::string> notes;
    if (transfers != 1)
      notes.push_back(fmt::format("a run loads the stream {} times, {} each time", transfers, text(stream.spec())));
    throw Error(fmt::format("stream `{}`: expected {}{}, got {}{}", stream.name(), name(stream.spec().dtype), takes,
                            name(data.dtype()), bracket_text(data.shape())),
                std::move(notes))
        .as(codes::stream);
  }
  return convert_safely(data, stream.spec().dtype, fmt::format("stream `{}`", stream.name()));
}

}  // namespace pxl
