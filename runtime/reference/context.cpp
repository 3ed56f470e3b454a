// See context.hpp.
#include "runtime/reference/context.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/tensor/float8.hpp"

namespace pxl {

namespace {

template <class T, class Value>
xt::xarray<T> read_as(const Shape& shape, Value value) {
  xt::xarray<T> x = xt::xarray<T>::from_shape(extents(shape));
  for (size_t i = 0; i < x.size(); ++i) x.data()[i] = value(i);
  return x;
}

template <class C>
const C& element_at(const std::byte* data, size_t i) {
  return reinterpret_cast<const C*>(data)[i];
}

/// Rounds a float64 once, to fewer digits. The intermediate float32 is rounded to odd, so that the second rounding
/// cannot take it for a tie that is none.
template <class T>
T rounded(double value) {
  float narrow = static_cast<float>(value);
  if (std::isfinite(narrow) && static_cast<double>(narrow) != value) {
    uint32_t bits = 0;
    if (std::fabs(static_cast<double>(narrow)) > std::fabs(value)) narrow = std::nextafterf(narrow, 0.0F);
    std::memcpy(&bits, &narrow, sizeof bits);
    bits |= 1U;
    std::memcpy(&narrow, &bits, sizeof bits);
  }
  return T(narrow);
}
/// An integer as a float64, whose last bit is odd if the float64 is not exact.
template <class From>
double odd_double(From value) {
  if constexpr (sizeof(From) < 8) {
    return static_cast<double>(value);
  } else {
    const bool negative = value < From(0);
    const uint64_t magnitude = negative ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
    if (magnitude >> 53 == 0) return static_cast<double>(value);
    const double wide = std::ldexp(static_cast<double>(magnitude >> 11 | (magnitude % 2048 != 0 ? 1U : 0U)), 11);
    return negative ? -wide : wide;
  }
}

/// A number as an integer: truncated towards zero; NaN becomes 0; a value out of range becomes the nearest value in
/// range.
template <class T>
T truncated(double value) {
  if (value != value) return 0;
  if (value <= static_cast<double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
  if (value >= static_cast<double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
  return static_cast<T>(value);
}

template <class To, class From>
To rounded_to(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (is_narrow_v<To> && std::is_integral_v<From>) {
    return rounded<To>(odd_double(value));
  } else if constexpr (is_narrow_v<To>) {
    return rounded<To>(static_cast<double>(value));
  } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
    return truncated<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

void write(DType dtype, std::byte* to, size_t i, double value) {
  if (is_float8(dtype)) {
    to_float8(dtype, &value, reinterpret_cast<uint8_t*>(to) + i, 1, 0, Float8Overflow::nan);
    return;
  }
  with_type(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    reinterpret_cast<T*>(to)[i] = rounded_to<T>(value);
  });
}

/// The values, broadcast to the spec of an output, in its memory.
template <class V>
void write_all(const TensorSpec& spec, std::byte* to, const xt::xarray<V>& values) {
  if (to == nullptr) return;
  if (shape_of(values) != spec.shape) {
    const xt::xarray<V> wide = xt::broadcast(values, extents(spec.shape));
    write_all(spec, to, wide);
    return;
  }
  if (is_float8(spec.dtype)) {
    for (size_t i = 0; i < values.size(); ++i) write(spec.dtype, to, i, static_cast<double>(values.data()[i]));
    return;
  }
  with_type(spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* elements = reinterpret_cast<T*>(to);
    for (size_t i = 0; i < values.size(); ++i) elements[i] = rounded_to<T>(values.data()[i]);
  });
}

}  // namespace

double ReferenceContext::number(std::string_view param, double if_none) const {
  const OpRow& r = site_.row;
  if (is_operand(r.params[param_index(r, param)].kind)) {
    const size_t slot = slot_of(r, param);
    if (has(slot)) return real(slot).data()[0];
  }
  return is_none(param) ? if_none : site_.number(param);
}

size_t ReferenceContext::axis(std::string_view param, size_t slot) const {
  return static_cast<size_t>(axis_of(site_, param, rank_of(site_.input(slot))));
}

std::vector<int64_t> ReferenceContext::axes(std::string_view param, size_t slot) const {
  return axes_of(site_, param, rank_of(site_.input(slot)));
}

std::vector<int64_t> ReferenceContext::all_axes(size_t slot) const {
  std::vector<int64_t> axes(shape(slot).size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

Reals ReferenceContext::real(size_t slot) const {
  const std::byte* data = buffers_.in[slot];
  const DType from = dtype(slot);
  if (is_float8(from))
    return read_as<double>(
        shape(slot), [&](size_t i) { return static_cast<double>(float8_value(from, element_at<uint8_t>(data, i))); });
  return with_type(from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return read_as<double>(shape(slot), [&](size_t i) {
      if constexpr (is_narrow_v<T>)
        return static_cast<double>(static_cast<float>(element_at<T>(data, i)));
      else
        return static_cast<double>(element_at<T>(data, i));
    });
  });
}

Wholes ReferenceContext::whole(size_t slot) const {
  const std::byte* data = buffers_.in[slot];
  return with_type(dtype(slot), [&](auto tag) {
    using T = typename decltype(tag)::type;
    return read_as<int64_t>(shape(slot), [&](size_t i) {
      if constexpr (std::is_integral_v<T>)
        return static_cast<int64_t>(element_at<T>(data, i));
      else
        return truncated<int64_t>(static_cast<double>(static_cast<float>(element_at<T>(data, i))));
    });
  });
}

Wholes ReferenceContext::indices(size_t slot) const {
  Wholes x = whole(slot);
  if (dtype(slot) == DType::uint64)
    for (int64_t& i : x) i = i < 0 ? std::numeric_limits<int64_t>::max() : i;
  return x;
}

Naturals ReferenceContext::natural(size_t slot) const {
  const Wholes x = whole(slot);
  return xt::cast<uint64_t>(x);
}

Patterns ReferenceContext::pattern(size_t slot) const {
  const size_t width = size_of(dtype(slot));
  const std::byte* data = buffers_.in[slot];
  return read_as<uint64_t>(shape(slot), [&](size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, data + i * width, width);
    return bits;
  });
}

void ReferenceContext::move(size_t index, const Patterns& patterns) {
  const TensorSpec& spec = site_.out[index];
  const size_t width = size_of(spec.dtype);
  std::byte* to = buffers_.out[index];
  if (to == nullptr) return;
  const auto copy = [&](const Patterns& all) {
    for (size_t i = 0; i < all.size(); ++i) std::memcpy(to + i * width, &all.data()[i], width);
  };
  if (static_cast<int64_t>(patterns.size()) == spec.size())
    copy(patterns);
  else
    copy(xt::broadcast(patterns, extents(spec.shape)));
}

uint64_t ReferenceContext::element_pattern(std::string_view param) const {
  const Array a = site_.element(param, dtype(0));
  uint64_t bits = 0;
  std::memcpy(&bits, a.raw(), size_of(a.dtype()));
  return bits;
}

void ReferenceContext::change(size_t slot, double value) {
  write(dtype(slot), const_cast<std::byte*>(buffers_.in[slot]), 0, value);  // the row says that it is modified
}

namespace {

template <class T, class V>
T held(DType dtype, V value) {
  return with_type(dtype, [&](auto tag) {
    const auto stored = rounded_to<typename decltype(tag)::type>(value);
    if constexpr (is_narrow_v<std::remove_const_t<decltype(stored)>>)
      return static_cast<T>(static_cast<float>(stored));
    else
      return static_cast<T>(stored);
  });
}

}  // namespace

double ReferenceContext::greatest() const { return row(out_dtype()).max; }

double ReferenceContext::in_dtype(DType dtype, double value) const { return held<double>(dtype, value); }
Reals ReferenceContext::in_dtype(DType dtype, Reals values) const {
  for (double& value : values) value = held<double>(dtype, value);
  return values;
}

double ReferenceContext::held_real(double value) const { return held<double>(out_dtype(), value); }
int64_t ReferenceContext::held_whole(double value) const { return held<int64_t>(out_dtype(), value); }
int64_t ReferenceContext::held_whole(int64_t value) const { return held<int64_t>(out_dtype(), value); }

void ReferenceContext::store(size_t index, const Reals& values) {
  write_all(site_.out[index], buffers_.out[index], values);
}
void ReferenceContext::store(size_t index, const Wholes& values) {
  write_all(site_.out[index], buffers_.out[index], values);
}
void ReferenceContext::store(size_t index, const Naturals& values) {
  write_all(site_.out[index], buffers_.out[index], values);
}

int64_t offset(const Shape& at, const Shape& shape) {
  int64_t total = 0;
  for (size_t i = 0; i < shape.size(); ++i) total = total * shape[i] + at[i];
  return total;
}

}  // namespace pxl
