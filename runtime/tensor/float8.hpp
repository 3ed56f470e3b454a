// The two 8-bit floating formats of the IPU: storage with a sign, and a scale beside it that is a power of two.
//
//               exponent  fraction  bias  largest  least normal  least subnormal
//   float8_143  4 bits    3 bits    8     240      2^-7          2^-10
//   float8_152  5 bits    2 bits    16    57344    2^-15         2^-17
//
// There are no infinities and no negative zero; the pattern 0x80 is the only NaN. Elsewhere they are called
// float8_e4m3fnuz and float8_e5m2fnuz. Source: B. Noune et al., "8-bit numerical formats for deep neural networks",
// 2022.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Treatment of values that round beyond the largest finite value, infinities included.
enum class Float8Overflow : uint8_t { nan, saturate };

/// Range of the scale's exponent: log2_scale is in [-32, 32).
inline constexpr int64_t min_log2_scale = -32, log2_scale_end = 32;

inline constexpr uint8_t float8_nan = 0x80;

/// The largest finite value of a float8 dtype.
float float8_max(DType dtype);
/// Value of a bit pattern; exact, also in float16.
float float8_value(DType dtype, uint8_t bits);
/// Values of all bit patterns times 2^log2_scale; exact.
std::array<float, 256> float8_table(DType dtype, int64_t log2_scale = 0);

/// `to` = `from` times 2^log2_scale, rounded once at the end to nearest even, subnormals included; NaN stays NaN, -0
/// becomes 0.
void to_float8(DType dtype, const half* from, uint8_t* to, int64_t count, int64_t log2_scale, Float8Overflow overflow);
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
