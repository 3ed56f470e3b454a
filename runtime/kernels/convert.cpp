// Conversions between dtypes.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/kernels/block.hpp"
#include "runtime/kernels/narrow.hpp"

namespace pxl {
namespace {

template <class To, class From>
To convert_one(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // Selections only, for vector code; NaN, which is not inside, gives 0.
    constexpr To lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
    const bool below = x <= static_cast<From>(lowest), above = x >= static_cast<From>(highest);
    const bool inside = (x > static_cast<From>(lowest)) & (x < static_cast<From>(highest));
    const To inner = static_cast<To>(inside ? x : From(0));
    return below ? lowest : above ? highest : inner;
  } else {
    return static_cast<To>(x);
  }
}

template <class From, class To>
void convert_loop(const std::byte* in, std::byte* out, int64_t n) {
  const From* x = reinterpret_cast<const From*>(in);
  To* y = reinterpret_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) y[i] = convert_one<To>(x[i]);
}

void convert_plain(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  with_type(from, [&](auto f) {
    with_type(to, [&](auto t) {
      using From = typename decltype(f)::type;
      using To = typename decltype(t)::type;
      if constexpr (!std::is_same_v<From, half> && !std::is_same_v<To, half>) convert_loop<From, To>(in, out, n);
    });
  });
}

}  // namespace

void convert(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    if (in != out) std::memmove(out, in, static_cast<size_t>(n) * size_of(from));
    return;
  }
  const bool from_half = from == DType::float16, to_half = to == DType::float16;
  if (from == DType::int8 && to == DType::float32)
    return bulk().int8_to_float(reinterpret_cast<const int8_t*>(in), reinterpret_cast<float*>(out), n);
  if ((from == DType::uint8 || from == DType::boolean) && to == DType::float32)  // bool is the bytes 0 and 1
    return bulk().uint8_to_float(reinterpret_cast<const uint8_t*>(in), reinterpret_cast<float*>(out), n);
  if (from == DType::float32 && to == DType::int32)
    return bulk().float_to_int32(reinterpret_cast<const float*>(in), reinterpret_cast<int32_t*>(out), n);
  if (!from_half && !to_half) return convert_plain(from, in, to, out, n);
  if (from_half && to == DType::float32)
    return bulk().half_to_float(reinterpret_cast<const uint16_t*>(in), reinterpret_cast<float*>(out), n);
  if (to_half && from == DType::float32)
    return bulk().float_to_half(reinterpret_cast<const float*>(in), reinterpret_cast<uint16_t*>(out), n);
  // Through blocks of float32.
  float buffer[512];
  std::byte* bytes = reinterpret_cast<std::byte*>(buffer);
  const int64_t in_width = static_cast<int64_t>(size_of(from)), out_width = static_cast<int64_t>(size_of(to));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = std::min<int64_t>(512, n - i);
    if (from_half) {
      bulk().half_to_float(reinterpret_cast<const uint16_t*>(in) + i, buffer, m);
      convert_plain(DType::float32, bytes, to, out + i * out_width, m);
    } else {
      convert_plain(from, in + i * in_width, DType::float32, bytes, m);
      bulk().float_to_half(buffer, reinterpret_cast<uint16_t*>(out) + i, m);
    }
  }
}

double read_number(DType dtype, const std::byte* data, int64_t i) {
  double value = 0;
  convert(dtype, data + i * static_cast<int64_t>(size_of(dtype)), DType::float64, reinterpret_cast<std::byte*>(&value),
          1);
  return value;
}

void write_number(DType dtype, std::byte* data, int64_t i, double value) {
  convert(DType::float64, reinterpret_cast<const std::byte*>(&value), dtype,
          data + i * static_cast<int64_t>(size_of(dtype)), 1);
}

Kernel cast_kernel(DType from, DType to, int64_t n) {
  Kernel kernel =
      Kernel::elementwise(n, 0.3 * static_cast<double>(n), [=](const Buffers& b, int64_t begin, int64_t end) {
        convert(from, b.in[0] + begin * static_cast<int64_t>(size_of(from)), to,
                b.out[0] + begin * static_cast<int64_t>(size_of(to)), end - begin);
      });
  if (const auto format = narrow_format(from); format && to == DType::float32)
    kernel.set_narrow_source({.format = *format});
  return kernel;
}

}  // namespace pxl
