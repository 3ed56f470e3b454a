// The 8-bit floating formats: storage with a sign, and a scale beside it that is a power of two.
//
//                  exponent  fraction  bias  largest  least normal  least subnormal  infinities  NaN         -0
//   float8_143     4 bits    3 bits    8     240      2^-7          2^-10            no          0x80        no
//   float8_152     5 bits    2 bits    16    57344    2^-15         2^-17            no          0x80        no
//   float8_e4m3fn  4 bits    3 bits    7     448      2^-6          2^-9             no          0x7F, 0xFF  yes
//   float8_e5m2    5 bits    2 bits    15    57344    2^-14         2^-16            yes         0x7D-0x7F   yes
//
// The IPU has the first two, with products; others call them float8_e4m3fnuz and float8_e5m2fnuz. Source: B. Noune et
// al., "8-bit numerical formats for deep neural networks", 2022. The last two only store numbers. Source:
// "OCP 8-bit Floating Point Specification (OFP8)", revision 1.0, 2023.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Treatment of values that round beyond the largest finite value, infinities included: NaN, or infinite in a format
/// that has infinities; or the largest finite value.
enum class Float8Overflow : uint8_t { nan, saturate };

/// Range of the scale's exponent: log2_scale is in [-32, 32).
inline constexpr int64_t min_log2_scale = -32, log2_scale_end = 32;

/// The largest finite value of a float8 dtype.
float float8_max(DType dtype);
/// Value of a bit pattern; exact, also in float16.
float float8_value(DType dtype, uint8_t bits);
/// Values of all bit patterns times 2^log2_scale; exact.
std::array<float, 256> float8_table(DType dtype, int64_t log2_scale = 0);

/// `to` = `from` times 2^log2_scale, rounded once at the end to nearest even, subnormals included; NaN becomes the
/// format's first NaN, and -0 becomes 0 in a format without it.
void to_float8(DType dtype, const half* from, uint8_t* to, int64_t count, int64_t log2_scale, Float8Overflow overflow);
void to_float8(DType dtype, const bfloat16* from, uint8_t* to, int64_t count, int64_t log2_scale,
               Float8Overflow overflow);
void to_float8(DType dtype, const float* from, uint8_t* to, int64_t count, int64_t log2_scale, Float8Overflow overflow);
void to_float8(DType dtype, const double* from, uint8_t* to, int64_t count, int64_t log2_scale,
               Float8Overflow overflow);

/// Throws Error unless log2_scale is in [-32, 32).
void check_log2_scale(int64_t log2_scale);

/// src times 2^log2_scale as float8, with a single rounding. Throws Error if `dtype` is not float8, if src is float8,
/// or if the scale is out of range.
Array to_float8(const Array& src, DType dtype, int64_t log2_scale, Float8Overflow overflow);
/// float8 src times 2^log2_scale as a floating dtype, with a single rounding. Throws Error for other dtypes and if the
/// scale is out of range.
Array from_float8(const Array& src, DType dtype, int64_t log2_scale);

}  // namespace pxl
