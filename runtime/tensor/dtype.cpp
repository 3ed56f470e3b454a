// Requirements on the table of dtypes, and IEEE binary16 conversions: bit arithmetic for single values, F16C for
// buffers.
#include "runtime/tensor/dtype.hpp"

#include <bit>
#include <stdexcept>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace pxl {
namespace {

constexpr bool in_order() {
  for (size_t i = 0; i < std::size(dtype_rows); ++i)
    if (dtype_rows[i].dtype != static_cast<DType>(i)) return false;
  return std::size(dtype_rows) == static_cast<size_t>(DType::float8_e5m2) + 1;
}
static_assert(in_order(), "one row per dtype, in the order of the enum");

uint16_t half_bits(float value) {
  uint32_t x = std::bit_cast<uint32_t>(value);
  uint32_t sign = x >> 16 & 0x8000u, magnitude = x & 0x7FFFFFFFu;
  uint32_t h;
  if (magnitude > 0x7F800000u) {
    h = 0x7E00u | magnitude >> 13;  // quiets NaNs and keeps the upper payload, as the processor does
    h &= 0x7FFFu;
  } else if (magnitude >= 0x477FF000u) {
    h = 0x7C00u;  // 65520 and above round to infinity
  } else if (magnitude < 0x38800000u) {
    // Below 2^-14: adding 0.5 shifts the subnormal's bits to the end of the significand, rounded to nearest even.
    h = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  } else {
    uint32_t odd = magnitude >> 13 & 1u;
    h = (magnitude + 0xFFFu + odd - 0x38000000u) >> 13;
  }
  return static_cast<uint16_t>(sign | h);
}

float half_value(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, magnitude = bits & 0x7FFFu;
  if (magnitude >= 0x7C00u) {
    uint32_t quiet = magnitude > 0x7C00u ? 0x400000u : 0u;
    return std::bit_cast<float>(sign | 0x7F800000u | quiet | (magnitude & 0x3FFu) << 13);
  }
  if (magnitude >= 0x400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  float subnormal = static_cast<float>(magnitude) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(subnormal));
}

#if defined(__x86_64__)
// All processors with AVX2 have F16C; both compilers can test for AVX2 at run time.
bool have_f16c() {
  static const bool have = __builtin_cpu_supports("avx2");
  return have;
}

__attribute__((target("avx,f16c"))) int64_t to_half_f16c(const float* from, half* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

__attribute__((target("avx,f16c"))) int64_t to_float_f16c(const half* from, float* to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
  return i;
}
#else
bool have_f16c() { return false; }
int64_t to_half_f16c(const float*, half*, int64_t) { return 0; }
int64_t to_float_f16c(const half*, float*, int64_t) { return 0; }
#endif

}  // namespace

void refuse_dtype_number() { throw std::logic_error("no such dtype"); }

std::optional<DType> dtype_from_name(std::string_view wanted) {
  for (const DTypeRow& r : dtype_rows)
    if (r.name == wanted) return r.dtype;
  return std::nullopt;
}

template <>
half::NarrowFloat(float value) : bits(half_bits(value)) {}
template <>
half::operator float() const {
  return half_value(bits);
}

void to_narrow(const float* from, bfloat16* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = bfloat16(from[i]);
}

void to_float(const bfloat16* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void to_narrow(const float* from, half* to, int64_t count) {
  int64_t i = have_f16c() ? to_half_f16c(from, to, count) : 0;
  for (; i < count; ++i) to[i] = half(from[i]);
}

void to_float(const half* from, float* to, int64_t count) {
  int64_t i = have_f16c() ? to_float_f16c(from, to, count) : 0;
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

}  // namespace pxl
