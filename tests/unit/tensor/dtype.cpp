// Element types and the binary16 conversions.
#include "runtime/tensor/dtype.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

using namespace pxl;

TEST_CASE("the table is in order and names lead back") {
  int i = 0;
  for (const DTypeRow& r : dtype_table()) {
    CHECK(static_cast<int>(r.dtype) == i++);
    CHECK(dtype_from_name(r.name) == r.dtype);
    if (is_float8(r.dtype)) {
      CHECK_THROWS_AS(with_type(r.dtype, [](auto) {}), Error);
      continue;
    }
    with_type(r.dtype, [&]<class T>(type_tag<T>) {
      CHECK(sizeof(T) == r.size);
      CHECK(dtype_of<T>() == r.dtype);
      CHECK(dtype_of<compute_type<T>>() == r.compute);
      CHECK(is_narrow_v<T> == is_narrow(r.dtype));
    });
  }
  CHECK(i == 17);
  CHECK_FALSE(dtype_from_name("float").has_value());
  CHECK(name(DType::boolean) == "bool");
  CHECK(is_integer(DType::uint8));
  CHECK_FALSE(is_integer(DType::boolean));
  CHECK_THROWS(row(static_cast<DType>(200)));
}

TEST_CASE("halves round to nearest even") {
  auto bits = [](float f) { return half(f).bits; };
  CHECK(bits(0.0f) == 0x0000);
  CHECK(bits(-0.0f) == 0x8000);
  CHECK(bits(1.0f) == 0x3C00);
  CHECK(bits(-2.0f) == 0xC000);
  CHECK(bits(65504.0f) == 0x7BFF);
  CHECK(bits(65519.996f) == 0x7BFF);
  CHECK(bits(65520.0f) == 0x7C00);
  CHECK(bits(1e30f) == 0x7C00);
  CHECK(bits(-std::numeric_limits<float>::infinity()) == 0xFC00);
  CHECK(bits(1.0f + 0x1p-11f) == 0x3C00);             // tie, to the even 1
  CHECK(bits(1.0f + 3 * 0x1p-11f) == 0x3C02);         // tie, to the even one above
  CHECK(bits(1.0f + 0x1p-11f + 0x1p-23f) == 0x3C01);  // just above the tie
  CHECK(bits(0x1p-24f) == 0x0001);                    // smallest subnormal
  CHECK(bits(0x1p-25f) == 0x0000);                    // tie, to zero
  CHECK(bits(std::nextafter(0x1p-25f, 1.0f)) == 0x0001);
  CHECK(bits(3 * 0x1p-25f) == 0x0002);
  CHECK(bits(0x1p-14f) == 0x0400);
  CHECK(bits(std::nextafter(0x1p-14f, 0.0f)) == 0x0400);
  CHECK(std::isnan(static_cast<float>(half(std::nanf("")))));
  CHECK((bits(std::bit_cast<float>(0x7F800001u)) & 0x7FFF) > 0x7C00);  // a signalling NaN stays a NaN
}

TEST_CASE("bfloat16 rounds to nearest even") {
  auto bits = [](float f) { return bfloat16(f).bits; };
  CHECK(bits(1.0f) == 0x3F80);
  CHECK(bits(-0.0f) == 0x8000);
  CHECK(bits(257.0f) == 0x4380);  // tie, to the even 256
  CHECK(bits(259.0f) == 0x4382);  // tie, to the even one above
  CHECK(bits(257.0f + 0x1p-15f) == 0x4381);
  CHECK(bits(0x1.fefffep127f) == 0x7F7F);
  CHECK(bits(0x1.ffp127f) == 0x7F80);
  CHECK(bits(-std::numeric_limits<float>::infinity()) == 0xFF80);
  CHECK(bits(0x1p-133f) == 0x0001);                                    // smallest subnormal
  CHECK(bits(0x1p-134f) == 0x0000);                                    // tie, to zero
  CHECK((bits(std::bit_cast<float>(0x7F800001u)) & 0x7FFF) > 0x7F80);  // a signalling NaN stays a NaN
}

TEST_CASE("narrow dtypes have the limits of their numbers") {
  for (const DTypeRow& r : dtype_table()) {
    if (!is_narrow(r.dtype)) continue;
    with_type(r.dtype, [&]<class T>(type_tag<T>) {
      if constexpr (is_narrow_v<T>) {
        const auto back = [](double x) { return static_cast<double>(static_cast<float>(T(static_cast<float>(x)))); };
        CHECK(back(r.max) == r.max);
        CHECK(back(r.min) == r.min);
        CHECK(std::isinf(back(r.infinite)));
        CHECK(back(std::nextafterf(static_cast<float>(r.infinite), 0.0f)) == r.max);
        CHECK(back(1 + std::ldexp(1.0, 1 - r.digits)) > 1);
        CHECK(back(1 + std::ldexp(1.0, -r.digits)) == 1);
      }
    });
  }
}

TEST_CASE_TEMPLATE("every narrow float survives the way through float", T, half, bfloat16) {
  const uint32_t infinity = T(std::numeric_limits<float>::infinity()).bits;
  for (uint32_t b = 0; b < 0x10000; ++b) {
    T h;
    h.bits = static_cast<uint16_t>(b);
    auto f = static_cast<float>(h);
    if ((b & 0x7FFF) > infinity) {
      if (!std::isnan(f)) FAIL("bits ", b, " are no NaN");
    } else if (T(f) != h) {
      FAIL("bits ", b, " came back as ", T(f).bits);
    }
  }
}

TEST_CASE_TEMPLATE("whole buffers convert to the same bits as single values", T, half, bfloat16) {
  std::vector<float> values;
  for (uint64_t u = 0; u < 0x1'0000'0000ull; u += 65521)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(u)));
  for (uint32_t b = 0; b < T(std::numeric_limits<float>::infinity()).bits - 1u;
       ++b) {  // all ties, and their neighbours
    T low, high;
    low.bits = static_cast<uint16_t>(b), high.bits = static_cast<uint16_t>(b + 1);
    float middle = (static_cast<float>(low) + static_cast<float>(high)) / 2;
    for (float f : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 3e38f), -middle}) values.push_back(f);
  }
  std::vector<T> narrow(values.size());
  to_narrow(values.data(), narrow.data(), static_cast<int64_t>(values.size()));
  size_t different = 0;
  for (size_t i = 0; i < values.size(); ++i) different += narrow[i] != T(values[i]);
  CHECK(different == 0);
  std::vector<T> all(0x10000);
  for (uint32_t b = 0; b < 0x10000; ++b) all[b].bits = static_cast<uint16_t>(b);
  std::vector<float> wide(all.size());
  to_float(all.data(), wide.data(), static_cast<int64_t>(all.size()));
  for (size_t i = 0; i < all.size(); ++i)
    different += std::bit_cast<uint32_t>(wide[i]) != std::bit_cast<uint32_t>(static_cast<float>(all[i]));
  CHECK(different == 0);
}
