// float8 conversions, with a single rounding.
#include "runtime/tensor/float8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {
namespace {

struct Format {
  DType dtype;
  int fraction_bits, bias;
  uint8_t largest;   ///< pattern of the largest finite value
  uint8_t infinity;  ///< 0: there is none
  uint8_t nan;       ///< the NaN that conversions write
  bool negative_zero;
};
constexpr Format formats[] = {
    {DType::float8_143, 3, 8, 0x7F, 0, 0x80, false},
    {DType::float8_152, 2, 16, 0x7F, 0, 0x80, false},
    {DType::float8_e4m3fn, 3, 7, 0x7E, 0, 0x7F, true},
    {DType::float8_e5m2, 2, 15, 0x7B, 0x7C, 0x7F, true},
};

const Format& format_of(DType dtype) {
  return *std::find_if(std::begin(formats), std::end(formats), [&](const Format& f) { return f.dtype == dtype; });
}

/// One element, branch-free; x is float or double, which have more fraction bits and a wider exponent than float8.
template <class T>
struct Encoder {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  static constexpr int digits = std::numeric_limits<T>::digits - 1;  // fraction bits
  static constexpr int bias = std::numeric_limits<T>::max_exponent - 1;

  int drop;           ///< fraction bits that are rounded off
  Bits rebias;        ///< difference of the exponent biases, shifted to T's exponent field
  T normal, shifter;  ///< smallest normal value; adding it to a smaller value shifts the subnormal's bits to the end
  Bits shifted;
  Bits largest, overflow, nan, zero_sign;

  Encoder(DType dtype, Float8Overflow o) {
    const Format& f = format_of(dtype);
    drop = digits - f.fraction_bits;
    rebias = static_cast<Bits>(bias - f.bias) << digits;
    normal = std::ldexp(T{1}, 1 - f.bias);
    shifter = std::ldexp(T{1}, digits + 1 - f.bias - f.fraction_bits);
    shifted = std::bit_cast<Bits>(shifter);
    largest = f.largest;
    nan = f.nan;
    overflow = o == Float8Overflow::saturate ? f.largest : f.infinity != 0 ? f.infinity : f.nan;
    zero_sign = f.negative_zero ? 0x80 : 0;
  }

  __attribute__((always_inline)) uint8_t operator()(T x) const {
    const Bits bits = std::bit_cast<Bits>(x), top = Bits{1} << (sizeof(T) * 8 - 1);
    const Bits magnitude = bits & (top - 1);
    const T size = std::bit_cast<T>(magnitude);
    const Bits odd = magnitude >> drop & 1;
    const Bits large = (magnitude + ((Bits{1} << (drop - 1)) - 1) + odd - rebias) >> drop;
    const Bits small = std::bit_cast<Bits>(size + shifter) - shifted;
    Bits code = size < normal ? small : large > largest ? overflow : large;
    code = x == x ? code : nan;
    const Bits sign = bits >> (sizeof(T) * 8 - 8) & (code == 0 ? zero_sign : 0x80);
    return static_cast<uint8_t>(code == nan ? code : code | sign);
  }
};

template <class T>
inline __attribute__((always_inline)) void encode_each(const Encoder<T>& encoder, const T* from, uint8_t* to,
                                                       int64_t count, T scale) {
  for (int64_t i = 0; i < count; ++i) to[i] = encoder(from[i] * scale);
}

#if defined(__x86_64__)
// Eight at a time; bit-identical.
__attribute__((target("avx2"))) void encode_avx2(Encoder<float> encoder, const float* from, uint8_t* to, int64_t count,
                                                 float scale) {
  encode_each(encoder, from, to, count, scale);
}
bool have_avx2() {
  static const bool have = __builtin_cpu_supports("avx2");
  return have;
}
#endif

template <class T>
void encode(DType dtype, const T* from, uint8_t* to, int64_t count, int64_t log2_scale, Float8Overflow overflow) {
  const Encoder<T> encoder(dtype, overflow);
  const T scale = std::ldexp(T{1}, static_cast<int>(log2_scale));
#if defined(__x86_64__)
  if constexpr (sizeof(T) == sizeof(float))
    if (have_avx2()) return encode_avx2(encoder, from, to, count, scale);
#endif
  encode_each(encoder, from, to, count, scale);
}

template <class T>
void encode_narrow(DType dtype, const T* from, uint8_t* to, int64_t count, int64_t log2_scale,
                   Float8Overflow overflow) {
  float block[512];
  for (int64_t i = 0; i < count; i += 512) {
    const int64_t n = std::min<int64_t>(512, count - i);
    to_float(from + i, block, n);
    encode(dtype, block, to + i, n, log2_scale, overflow);
  }
}

}  // namespace

void refuse_float8(DType dtype) {
  throw Error(
      fmt::format("{} holds numbers only together with a scale: it has no arithmetic and no conversions of its own",
                  name(dtype)),
      {"pow2scale_cast_to_fp8 and pow2scale_cast_from_fp8 convert it from floats and back; "
       "host_pow2scale_cast_to_fp8 and host_pow2scale_cast_from_fp8 convert arrays"})
      .as(codes::dtype);
}

void check_log2_scale(int64_t log2_scale) {
  if (log2_scale < min_log2_scale || log2_scale >= log2_scale_end)
    throw run_error(
        fmt::format("log2_scale is {}; it must be in {}..{}", log2_scale, min_log2_scale, log2_scale_end - 1))
        .as(codes::value);
}

float float8_value(DType dtype, uint8_t bits) {
  const Format& f = format_of(dtype);
  const int magnitude = bits & 0x7F;
  if (f.infinity != 0 && magnitude == f.infinity)
    return std::copysign(std::numeric_limits<float>::infinity(), bits & 0x80 ? -1.0F : 1.0F);
  if (bits == f.nan || magnitude > f.largest) return std::numeric_limits<float>::quiet_NaN();
  const int exponent = magnitude >> f.fraction_bits, fraction = bits & ((1 << f.fraction_bits) - 1);
  const int whole = exponent == 0 ? fraction : fraction + (1 << f.fraction_bits);
  const float size = std::ldexp(static_cast<float>(whole), std::max(exponent, 1) - f.bias - f.fraction_bits);
  return bits & 0x80 ? -size : size;
}

float float8_max(DType dtype) { return float8_value(dtype, format_of(dtype).largest); }

std::array<float, 256> float8_table(DType dtype, int64_t log2_scale) {
  std::array<float, 256> values{};
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = std::ldexp(float8_value(dtype, static_cast<uint8_t>(i)), static_cast<int>(log2_scale));
  return values;
}

void to_float8(DType dtype, const half* from, uint8_t* to, int64_t count, int64_t log2_scale, Float8Overflow overflow) {
  encode_narrow(dtype, from, to, count, log2_scale, overflow);
}

void to_float8(DType dtype, const bfloat16* from, uint8_t* to, int64_t count, int64_t log2_scale,
               Float8Overflow overflow) {
  encode_narrow(dtype, from, to, count, log2_scale, overflow);
}

// Scaling a float32 may overflow or lose bits, but only outside the range of float8.
void to_float8(DType dtype, const float* from, uint8_t* to, int64_t count, int64_t log2_scale,
               Float8Overflow overflow) {
  encode(dtype, from, to, count, log2_scale, overflow);
}

void to_float8(DType dtype, const double* from, uint8_t* to, int64_t count, int64_t log2_scale,
               Float8Overflow overflow) {
  encode(dtype, from, to, count, log2_scale, overflow);
}

Array to_float8(const Array& src, DType dtype, int64_t log2_scale, Float8Overflow overflow) {
  check_log2_scale(log2_scale);
  if (!is_float8(dtype)) throw Error(fmt::format("expected a float8 dtype, got {}", name(dtype))).as(codes::dtype);
  Array out(dtype, src.shape());
  auto* to = reinterpret_cast<uint8_t*>(out.mutable_raw());
  if (src.dtype() == DType::float16)
    to_float8(dtype, src.data<half>(), to, out.size(), log2_scale, overflow);
  else
    to_float8(dtype, src.cast(DType::float64).data<double>(), to, out.size(), log2_scale, overflow);
  return out;
}

Array from_float8(const Array& src, DType dtype, int64_t log2_scale) {
  check_log2_scale(log2_scale);
  if (!is_float8(src.dtype()) || !is_floating(dtype))
    throw Error(fmt::format("expected floats to be made of float8, got {} of {}", name(dtype), name(src.dtype())))
        .as(codes::dtype);
  const std::array<float, 256> values = float8_table(src.dtype(), log2_scale);
  Array out(DType::float32, src.shape());
  auto* to = out.mutable_data<float>();
  for (int64_t i = 0; i < out.size(); ++i) to[i] = values[static_cast<uint8_t>(src.raw()[i])];
  return out.cast(dtype);
}

}  // namespace pxl
