// float8: every pattern, every float16, against values written out from the definition of the formats.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/array.hpp"
#include "runtime/tensor/float8.hpp"
#include "runtime/tensor/print.hpp"

using namespace pxl;

namespace {

// Values from the formats' definitions.
struct Format {
  DType dtype;
  int fraction_bits, bias, largest, beyond, nan;  // the last three are patterns; `beyond` of what is too large
  bool negative_zero;
  operator DType() const { return dtype; }
};
constexpr Format formats[] = {{DType::float8_143, 3, 8, 0x7F, 0x80, 0x80, false},
                              {DType::float8_152, 2, 16, 0x7F, 0x80, 0x80, false},
                              {DType::float8_e4m3fn, 3, 7, 0x7E, 0x7F, 0x7F, true},
                              {DType::float8_e5m2, 2, 15, 0x7B, 0x7C, 0x7F, true}};

// The value of a bit pattern, summed from powers of two; an independent spelling of float8_value.
double defined_value(const Format& f, int bits) {
  const int fraction_bits = f.fraction_bits, bias = f.bias;
  const int exponent = (bits % 128) >> fraction_bits;
  double value = exponent > 0 ? 1.0 : 0.0;
  for (int i = 0; i < fraction_bits; ++i)
    if (bits >> (fraction_bits - 1 - i) & 1) value += std::pow(2.0, -(i + 1));
  value *= std::pow(2.0, std::max(exponent, 1) - bias);
  return bits >= 128 ? -value : value;
}

// The nearest of all values by search, ties to the pattern that ends in 0.
uint8_t nearest(const Format& f, double x, bool nan_on_overflow) {
  if (std::isnan(x)) return static_cast<uint8_t>(f.nan);
  const double size = std::fabs(x);
  int best = 0;
  while (best < 127 && defined_value(f, best + 1) <= size) ++best;
  const double here = defined_value(f, best);
  const double next = best < 127 ? defined_value(f, best + 1) : 2 * here - defined_value(f, best - 1);
  const double below = size - here, above = next - size;
  if (above < below || (above == below && best % 2 == 1)) ++best;
  if (best > f.largest) {
    best = nan_on_overflow ? f.beyond : f.largest;
    if (best == f.nan) return static_cast<uint8_t>(best);
  }
  return static_cast<uint8_t>(!std::signbit(x) || (best == 0 && !f.negative_zero) ? best : best + 128);
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
  CHECK(float8_max(DType::float8_e4m3fn) == 448.0F);
  CHECK(float8_max(DType::float8_e5m2) == 57344.0F);
  CHECK(float8_value(DType::float8_e4m3fn, 1) == 0x1p-9F);
  CHECK(float8_value(DType::float8_e5m2, 1) == 0x1p-16F);
  CHECK(float8_value(DType::float8_e4m3fn, 0x08) == 0x1p-6F);
  CHECK(float8_value(DType::float8_e5m2, 0x04) == 0x1p-14F);
  for (const Format& d : formats) {
    CHECK(size_of(d.dtype) == 1);
    CHECK(is_float8(d));
    CHECK_FALSE(is_floating(d));
    CHECK_FALSE(is_integer(d));
    CHECK(dtype_from_name(name(d)) == d);
    for (int bits = 0; bits < 256; ++bits) {
      const float value = float8_value(d, static_cast<uint8_t>(bits));
      if (bits % 128 == 0x7C && d.dtype == DType::float8_e5m2)
        CHECK((std::isinf(value) && std::signbit(value) == (bits > 127)));
      else if (bits == d.nan || bits % 128 > d.largest)
        CHECK(std::isnan(value));
      else
        CHECK((static_cast<double>(value) == defined_value(d, bits) && (bits != 0x80 || std::signbit(value))));
    }
  }
}

TEST_CASE("every pattern comes back from float16, float32 and float64, also through a scale") {
  for (const Format& d : formats)
    for (int bits = 0; bits < 256; ++bits) {
      const float value = float8_value(d, static_cast<uint8_t>(bits));
      if (std::isnan(value) && bits != d.nan) continue;
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
  for (const Format& d : formats)
    for (const int64_t scale : {0, 9, -6})
      for (const bool nan : {true, false}) {
        to_float8(d, all.data(), out.data(), 65536, scale, nan ? Float8Overflow::nan : Float8Overflow::saturate);
        int64_t wrong = 0;
        for (size_t i = 0; i < all.size(); ++i) {
          const double x = static_cast<double>(static_cast<float>(all[i])) * std::pow(2.0, static_cast<double>(scale));
          wrong += out[i] != nearest(d, x, nan);
        }
        CAPTURE(name(d.dtype));
        CAPTURE(scale);
        CHECK(wrong == 0);
      }
}

TEST_CASE("float32 and float64 round once, on the sides of every tie") {
  for (const Format& d : formats)
    for (int bits = 0; bits < d.largest; ++bits) {
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

TEST_CASE("numbers that are too large, infinite, NaN or -0") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  for (const Format& d : formats) {
    const auto minus = [](int bits) { return bits == 0x7F || bits == 0x80 ? bits : bits | 0x80; };
    const double largest = static_cast<double>(float8_max(d));
    for (const double x : {largest * 1.08, largest * 2, 1e30, 1e300, inf}) {
      CHECK(rounded(d, x) == d.beyond);
      CHECK(rounded(d, -x) == minus(d.beyond));
      CHECK(rounded(d, x, 0, Float8Overflow::saturate) == d.largest);
      CHECK(rounded(d, -x, 0, Float8Overflow::saturate) == (d.largest | 0x80));
    }
    CHECK(rounded(d, std::nan(""), 0, Float8Overflow::saturate) == d.nan);
    CHECK(rounded(d, -std::nan("")) == d.nan);
    const int zero = d.negative_zero ? 0x80 : 0;
    CHECK(rounded(d, -0.0) == zero);
    CHECK(rounded(d, -1e-30) == zero);
    CHECK(rounded(d, half(-0.0F)) == zero);
    CHECK(rounded(d, 1e38F, 31) == d.beyond);  // float32 itself overflows
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
