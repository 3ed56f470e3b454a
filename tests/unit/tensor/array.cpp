// Host arrays: value semantics, views, conversions, and the refusal of what memory cannot hold.
#include "runtime/tensor/array.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/base/diagnostics/diagnostic.hpp"

using namespace pxl;

TEST_CASE("an array is a value") {
  Array a = Array::from<float>({2, 2}, std::vector<float>{1, 2, 3, 4});
  Array b = a;
  CHECK(a.raw() == b.raw());
  b.mutable_data<float>()[0] = 9;
  CHECK(a.number(0) == 1);
  CHECK(b.number(0) == 9);
  CHECK_FALSE(identical(a, b));
  CHECK(identical(a, a.clone()));
  CHECK(a.clone().raw() != a.raw());
}

TEST_CASE("a default array is a scalar 0 that can be written") {
  Array a, b;
  CHECK(a.rank() == 0);
  CHECK(a.number(0) == 0);
  a.mutable_data<float>()[0] = 3;
  CHECK(b.number(0) == 0);
  CHECK(Array().number(0) == 0);
}

TEST_CASE("storage is aligned to 64 bytes") {
  for (int64_t n : {0, 1, 3, 1000}) CHECK(reinterpret_cast<uintptr_t>(Array(DType::float32, {n}).raw()) % 64 == 0);
}

TEST_CASE("rows and reshapes share the buffer until written") {
  Array a = Array::from<int32_t>({3, 2}, std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  Array row = a.rows(1, 3);
  CHECK(row.shape() == Shape{2, 2});
  CHECK(row.integer(0) == 2);
  CHECK(row.raw() == a.raw() + 8);
  row.mutable_data<int32_t>()[0] = 70;
  CHECK(a.integer(2) == 2);
  CHECK(a.reshaped({6}).raw() == a.raw());
  CHECK(a.rows(3, 3).size() == 0);
  CHECK_THROWS_AS(a.rows(2, 4), Error);
  CHECK_THROWS_AS(a.rows(-1, 1), Error);
  CHECK_THROWS_AS(Array().rows(0, 0), Error);
  CHECK_THROWS_WITH_AS(a.reshaped({4}), "int32[3, 2] cannot be reshaped to [4]: 6 elements and 4", Error);
}

TEST_CASE("an array that memory cannot hold is refused with its size") {
  CHECK_THROWS_WITH_AS(Array(DType::float32, {1 << 20, 1 << 20}),
                       "float32[1048576, 1048576] needs 4.0 TiB, more than memory", Error);
  CHECK_THROWS_AS(Array(DType::float64, {int64_t{1} << 60}), Error);
  CHECK_THROWS_AS(Array::zeros(DType::int8, {-1}), Error);
  try {
    Array a(DType::float64, {int64_t{1} << 47});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.first().fault == Fault::failed);
  }
}

TEST_CASE("casts truncate, saturate and round") {
  auto one = [](auto value, DType to) { return Array::scalar(value).cast(to); };
  CHECK(one(2.9f, DType::int32).integer(0) == 2);
  CHECK(one(-2.9f, DType::int32).integer(0) == -2);
  CHECK(one(1e20f, DType::int32).integer(0) == std::numeric_limits<int32_t>::max());
  CHECK(one(-1e20, DType::int64).integer(0) == std::numeric_limits<int64_t>::min());
  CHECK(one(1e30, DType::uint8).integer(0) == 255);
  CHECK(one(-3.0, DType::uint8).integer(0) == 0);
  CHECK(one(std::nan(""), DType::int32).integer(0) == 0);
  CHECK(one(9223372036854775807.0, DType::int64).integer(0) == std::numeric_limits<int64_t>::max());
  CHECK(one(int32_t{300}, DType::uint8).integer(0) == 44);
  CHECK(one(0.5f, DType::boolean).integer(0) == 1);
  CHECK(one(std::nan(""), DType::boolean).integer(0) == 1);
  CHECK(one(-0.0f, DType::boolean).integer(0) == 0);
  CHECK(one(true, DType::float32).number(0) == 1);
  CHECK(one(2049.0f, DType::float16).number(0) == 2048);
  CHECK(one(half(1.5f), DType::int8).integer(0) == 1);
  // Through float this would round twice, to 1 + 2^-10 first up and then to even.
  CHECK(one(1.0 + 0x1p-11 + 0x1p-40, DType::float16).number(0) == 1.0 + 0x1p-10);
  CHECK(one(1.0 + 3 * 0x1p-11 - 0x1p-40, DType::float16).number(0) == 1.0 + 0x1p-10);
  CHECK(one(1e300, DType::float16).number(0) == std::numeric_limits<double>::infinity());
  Array same = Array::scalar(1.0f);
  CHECK(same.cast(DType::float32).raw() == same.raw());
}

TEST_CASE("filled arrays") {
  CHECK(Array::full(DType::float16, {3}, 0.1).number(2) == doctest::Approx(0.1).epsilon(1e-3));
  CHECK(Array::full_int(DType::int64, {2}, std::numeric_limits<int64_t>::max()).integer(1) ==
        std::numeric_limits<int64_t>::max());
  CHECK(Array::zeros(DType::boolean, {4}).integer(3) == 0);
}

TEST_CASE("misuse is a logic error, not undefined") {
  Array a = Array::scalar(1.0f);
  CHECK_THROWS_AS(a.data<double>(), std::logic_error);
  CHECK_THROWS_AS(a.number(1), std::logic_error);
  CHECK_THROWS_AS(a.integer(-1), std::logic_error);
  CHECK_THROWS_AS(Array::from<float>({3}, std::vector<float>{1, 2}), std::logic_error);
  CHECK_THROWS_AS(Array::wrap(DType::float32, {1}, nullptr), std::logic_error);
}

TEST_CASE("wrapped memory is seen, and copied on writing while its owner holds it") {
  std::shared_ptr<std::byte> memory(new std::byte[8]{}, [](std::byte* p) { delete[] p; });
  Array a = Array::wrap(DType::uint8, {8}, memory);
  CHECK(a.raw() == memory.get());
  a.mutable_data<uint8_t>()[0] = 1;
  CHECK(memory.get()[0] == std::byte{0});
}
