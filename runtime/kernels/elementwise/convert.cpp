// Conversions between dtypes.
#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "runtime/base/threads/keep_subnormals.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/gemm/narrow.hpp"
#include "runtime/tensor/exact.hpp"

namespace pxl {
namespace {

void convert_plain(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  integer_blocks().conversion(from, to)(in, out, n);
}

/// Converts int32 to narrower integers, saturating.
template <class To>
void narrow_integers(const int32_t* in, std::byte* out, int64_t n) {
  constexpr int32_t lowest = std::numeric_limits<To>::min(), highest = std::numeric_limits<To>::max();
  To* y = reinterpret_cast<To*>(out);
  for (int64_t i = 0; i < n; ++i) {
    const int32_t above = in[i] < lowest ? lowest : in[i];
    y[i] = static_cast<To>(above > highest ? highest : above);
  }
}

template <class To>
auto* as(std::byte* out) {
  return reinterpret_cast<To*>(out);
}

/// Converts to integers, towards 0, saturating. Unsigned integers of 32 and 64 bits have no vector code.
void floats_to_integers(const float* x, DType to, std::byte* out, int64_t n) {
  const BulkFunctions& f = bulk();
  switch (to) {
    case DType::int8: return f.float_to_int8(x, as<int8_t>(out), n);
    case DType::int16: return f.float_to_int16(x, as<int16_t>(out), n);
    case DType::int32: return f.float_to_int32(x, as<int32_t>(out), n);
    case DType::int64: return f.float_to_int64(x, as<int64_t>(out), n);
    case DType::uint8: return f.float_to_uint8(x, as<uint8_t>(out), n);
    case DType::uint16: return f.float_to_uint16(x, as<uint16_t>(out), n);
    default: return convert_plain(DType::float32, reinterpret_cast<const std::byte*>(x), to, out, n);
  }
}
/// The same for float64; narrower integers are converted by way of int32.
void doubles_to_integers(const double* x, DType to, std::byte* out, int64_t n) {
  const BulkFunctions& f = bulk();
  if (to == DType::int64) return f.double_to_int64(x, as<int64_t>(out), n);
  if (to == DType::int32) return f.double_to_int32(x, as<int32_t>(out), n);
  if (size_of(to) >= sizeof(int32_t))
    return convert_plain(DType::float64, reinterpret_cast<const std::byte*>(x), to, out, n);
  int32_t buffer[512];
  const auto width = static_cast<int64_t>(size_of(to));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = std::min<int64_t>(512, n - i);
    f.double_to_int32(x + i, buffer, m);
    with_type(to, [&](auto tag) {
      using To = typename decltype(tag)::type;
      if constexpr (std::is_integral_v<To> && !std::is_same_v<To, bool> && sizeof(To) < sizeof(int32_t))
        narrow_integers<To>(buffer, out + i * width, m);
    });
  }
}

/// Converts integers to float32, to be rounded to a dtype whose numbers end at `infinite`. float32 may lack integers
/// below that bound; its last bit then marks omitted digits, so that the result is rounded once.
void integers_to_floats(DType from, const std::byte* in, double infinite, float* out, int64_t n) {
  constexpr double all_integers = 0x1p24;
  if (size_of(from) < sizeof(float) || infinite <= all_integers)
    return convert_plain(from, in, DType::float32, reinterpret_cast<std::byte*>(out), n);
  with_type(from, [&](auto tag) {
    using From = typename decltype(tag)::type;
    if constexpr (std::is_integral_v<From>)
      for (int64_t i = 0; i < n; ++i) {
        const From x = reinterpret_cast<const From*>(in)[i];
        out[i] = odd_float(static_cast<std::conditional_t<std::is_signed_v<From>, int64_t, uint64_t>>(x));
      }
  });
}

}  // namespace

void convert(DType from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  if (n <= 0) return;
  if (from == to) {
    if (in != out) std::memmove(out, in, static_cast<size_t>(n) * size_of(from));
    return;
  }
  const NarrowFunctions *narrow_from = narrow_functions(from), *narrow_to = narrow_functions(to);
  if (from == DType::int8 && to == DType::float32)
    return bulk().int8_to_float(reinterpret_cast<const int8_t*>(in), reinterpret_cast<float*>(out), n);
  if ((from == DType::uint8 || from == DType::boolean) && to == DType::float32)  // bool is the bytes 0 and 1
    return bulk().uint8_to_float(reinterpret_cast<const uint8_t*>(in), reinterpret_cast<float*>(out), n);
  if (from == DType::float32 && is_integer(to))
    return floats_to_integers(reinterpret_cast<const float*>(in), to, out, n);
  if (from == DType::float64 && is_integer(to))
    return doubles_to_integers(reinterpret_cast<const double*>(in), to, out, n);
  if (!narrow_from && !narrow_to) return convert_plain(from, in, to, out, n);
  if (narrow_from && to == DType::float32)
    return narrow_from->widen(reinterpret_cast<const uint16_t*>(in), reinterpret_cast<float*>(out), n);
  if (narrow_to && from == DType::float32)
    return narrow_to->round(reinterpret_cast<const float*>(in), reinterpret_cast<uint16_t*>(out), n);
  if (narrow_to && from == DType::float64)
    return narrow_to->round_double(reinterpret_cast<const double*>(in), reinterpret_cast<uint16_t*>(out), n);
  // Converts in blocks of float32.
  float buffer[512];
  std::byte* bytes = reinterpret_cast<std::byte*>(buffer);
  const int64_t in_width = static_cast<int64_t>(size_of(from)), out_width = static_cast<int64_t>(size_of(to));
  for (int64_t i = 0; i < n; i += 512) {
    const int64_t m = std::min<int64_t>(512, n - i);
    if (narrow_from) {
      narrow_from->widen(reinterpret_cast<const uint16_t*>(in) + i, buffer, m);
      convert(DType::float32, bytes, to, out + i * out_width, m);
    } else {
      integers_to_floats(from, in + i * in_width, row(to).infinite, buffer, m);
      narrow_to->round(buffer, reinterpret_cast<uint16_t*>(out) + i, m);
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
        const KeepSubnormals as_array_does;
        convert(from, b.in[0] + begin * static_cast<int64_t>(size_of(from)), to,
                b.out[0] + begin * static_cast<int64_t>(size_of(to)), end - begin);
      });
  if (const auto format = narrow_format(from); format && to == DType::float32)
    kernel.set_narrow_source({.format = *format});
  return kernel;
}

}  // namespace pxl
