// float8: every pattern, every float16, against values written out from the definition of the formats.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/diagnostic.hpp"
#include "runtime/tensor/array.hpp"
#include "runtime/tensor/float8.hpp"
#include "runtime/tensor/print.hpp"

using namespace pxl;

namespace {

constexpr DType formats[] = {DType::float8_143, DType::float8_152};

// The value of a pattern as sums of powers of two; an independent spelling of float8_value.
double defined_value(DType dtype, int bits) {
  const int fraction_bits = dtype == DType::float8_143 ? 3 : 2, bias = dtype == DType::float8_143 ? 8 : 16;
  const int exponent = (bits % 128) >> fraction_bits;
  double value = exponent > 0 ? 1.0 : 0.0;
  for (int i = 0; i < fraction_bits; ++i)
    if (bits >> (fraction_bits - 1 - i) & 1) value += std::pow(2.0, -(i + 1));
  value *= std::pow(2.0, std::max(exponent, 1) - bias);
  return bits >= 128 ? -value : value;
}

// The nearest of all values by search, ties to the pattern that ends in 0.
uint8_t nearest(DType dtype, double x, bool nan_on_overflow) {
  if (std::isnan(x)) return 0x80;
  const double size = std::fabs(x);
  const double largest = defined_value(dtype, 127), step = largest - defined_value(dtype, 126);
  int best = 127;
  if (size >= largest + step / 2) {  // half a step beyond it is a tie with the next even number
    if (nan_on_overflow) return 0x80;
  } else {
    int low = 0;
    while (low < 127 && defined_value(dtype, low + 1) <= size) ++low;
    best = low;
    if (low < 127) {
      const double below = size - defined_value(dtype, low), above = defined_value(dtype, low + 1) - size;
      if (above < below || (above == below && low % 2 == 1)) best = low + 1;
    }
  }
  return static_cast<uint8_t>(best == 0 || x > 0 ? best : best + 128);
}

template <class T>
uint8_t rounded(DType dtype, T x, int64_t scale = 0, Float8Overflow overflow = Float8Overflow::nan) {
  uint8_t out = 0;
  to_float8(dtype, &x, &out, 1, scale, overflow);
  return out;
}

}  // namespace

TEST_CASE("the facts of the formats") {
  CHECK(float8_max(DType::float8_143) == 240.0F);
  CHECK(float8_max(DType::float8_152) == 57344.0F);
  CHECK(float8_value(DType::float8_143, 1) == 0x1p-10F);
  CHECK(float8_value(DType::float8_152, 1) == 0x1p-17F);
  CHECK(float8_value(DType::float8_143, 0x08) == 0x1p-7F);
  CHECK(float8_value(DType::float8_152, 0x04) == 0x1p-15F);
  for (DType d : formats) {
    CHECK(size_of(d) == 1);
    CHECK(is_float8(d));
    CHECK_FALSE(is_floating(d));
    CHECK_FALSE(is_integer(d));
    CHECK(dtype_from_name(name(d)) == d);
    for (int bits = 0; bits < 256; ++bits) {
      const float value = float8_value(d, static_cast<uint8_t>(bits));
      if (bits == 0x80)
        CHECK(std::isnan(value));
      else
        CHECK(static_cast<double>(value) == defined_value(d, bits));
    }
  }
}

TEST_CASE("every pattern comes back from float16, float32 and float64, also through a scale") {
  for (DType d : formats)
    for (int bits = 0; bits < 256; ++bits) {
      const float value = float8_value(d, static_cast<uint8_t>(bits));
      CHECK(rounded(d, half(value)) == bits);
      CHECK(rounded(d, value) == bits);
      CHECK(rounded(d, static_cast<double>(value)) == bits);
      for (int64_t scale : {-32, -5, 7, 31}) {
        const float scaled = float8_table(d, -scale)[static_cast<size_t>(bits)];
        CHECK(rounded(d, scaled, scale) == bits);
      }
    }
}

TEST_CASE("every float16 rounds to the nearest value, ties to even") {
  std::vector<half> all(65536);
  for (size_t i = 0; i < all.size(); ++i) all[i].bits = static_cast<uint16_t>(i);
  std::vector<uint8_t> out(all.size());
  for (DType d : formats)
    for (const int64_t scale : {0, 9, -6})
      for (const bool nan : {true, false}) {
        to_float8(d, all.data(), out.data(), 65536, scale, nan ? Float8Overflow::nan : Float8Overflow::saturate);
        int64_t wrong = 0;
        for (size_t i = 0; i < all.size(); ++i) {
          const double x = static_cast<double>(static_cast<float>(all[i])) * std::pow(2.0, static_cast<double>(scale));
          wrong += out[i] != nearest(d, x, nan);
        }
        CAPTURE(name(d));
        CAPTURE(scale);
        CHECK(wrong == 0);
      }
}

TEST_CASE("float32 and float64 round once, on the sides of every tie") {
  for (DType d : formats)
    for (int bits = 0; bits < 127; ++bits) {
      const double low = defined_value(d, bits), high = defined_value(d, bits + 1), tie = (low + high) / 2;
      const auto even = static_cast<uint8_t>(bits % 2 == 0 ? bits : bits + 1);
      CHECK(rounded(d, tie) == even);
      CHECK(rounded(d, std::nextafter(tie, 0.0)) == bits);
      CHECK(rounded(d, std::nextafter(tie, 1e9)) == bits + 1);
      const auto single = static_cast<float>(tie);
      CHECK(rounded(d, single) == even);
      CHECK(rounded(d, std::nextafter(single, 0.0F)) == bits);
      CHECK(rounded(d, std::nextafter(single, 1e9F)) == bits + 1);
    }
}

TEST_CASE("what is too large, infinite, NaN or -0") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (DType d : formats) {
    const double largest = static_cast<double>(float8_max(d));
    for (const double x : {largest * 1.08, largest * 2, 1e30, 1e300, inf}) {
      CHECK(rounded(d, x) == 0x80);
      CHECK(rounded(d, -x) == 0x80);
      CHECK(rounded(d, x, 0, Float8Overflow::saturate) == 0x7F);
      CHECK(rounded(d, -x, 0, Float8Overflow::saturate) == 0xFF);
    }
    CHECK(rounded(d, std::nan(""), 0, Float8Overflow::saturate) == 0x80);
    CHECK(rounded(d, -0.0) == 0);
    CHECK(rounded(d, -1e-30) == 0);
    CHECK(rounded(d, half(-0.0F)) == 0);
    CHECK(rounded(d, 1e38F, 31) == 0x80);  // float32 itself overflows
    CHECK(rounded(d, 1e-38F, -32) == 0);
  }
}

TEST_CASE("arrays of float8 are printed, moved and read; they are not converted") {
  Array a(DType::float8_143, {2, 2});
  const uint8_t bits[] = {0x40, 0xC8, 0x80, 0x01};
  std::copy(std::begin(bits), std::end(bits), reinterpret_cast<uint8_t*>(a.mutable_raw()));
  CHECK(to_text(a) == "[[ 1.000000e+00 -2.000000e+00]\n [          nan  9.765625e-04]]");
  CHECK(to_text(a.rows(0, 1).reshaped({2})) == "[ 1. -2.]");
  CHECK(a.number(1) == -2);
  CHECK(a.integer(1) == -2);
  CHECK(identical(a.cast(DType::float8_143), a));
  CHECK_THROWS_AS(static_cast<void>(a.cast(DType::float32)), Error);
  CHECK_THROWS_AS(static_cast<void>(a.cast(DType::float8_152)), Error);
  CHECK_THROWS_AS(static_cast<void>(Array::full(DType::float32, {2}, 1).cast(DType::float8_143)), Error);
  CHECK(Array::zeros(DType::float8_152, {3}).number(2) == 0);
  CHECK(Array::full(DType::float8_152, {3}, 0).number(2) == 0);
  CHECK_THROWS_AS(static_cast<void>(Array::full(DType::float8_152, {3}, 1)), Error);
}
