// Implicit conversions: what each kind of dtype holds, and what the refusals say.
#include "runtime/tensor/exact.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"

using namespace pxl;

namespace {

std::string refusal(const Array& data, DType to) {
  try {
    convert_exactly(data, to, "x");
  } catch (const Error& e) {
    return e.first().message;
  }
  return "";
}

template <class T>
Array values(std::vector<T> v) {
  return Array::from<T>({static_cast<int64_t>(v.size())}, v);
}

}  // namespace

TEST_CASE("ints hold whole numbers in their range, bool 0 and 1, floats what stays finite") {
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(holds<int32_t>(2147483647.0));
  CHECK_FALSE(holds<int32_t>(2147483648.0));
  CHECK(holds<int32_t>(-2147483648.0));
  CHECK_FALSE(holds<int32_t>(-2147483649.0));
  CHECK_FALSE(holds<int64_t>(9223372036854775808.0));
  CHECK(holds<uint64_t>(9223372036854775808.0));
  CHECK_FALSE(holds<uint64_t>(18446744073709551616.0));
  CHECK_FALSE(holds<uint8_t>(-0.5));
  CHECK(holds<uint8_t>(-0.0));
  CHECK_FALSE(holds<int8_t>(half(0.5F)));
  for (double x : {nan, inf, -inf}) {
    CHECK_FALSE(holds<int32_t>(x));
    CHECK_FALSE(holds<bool>(x));
    CHECK(holds<half>(x));
    CHECK(holds<float>(x));
  }
  CHECK(holds<bool>(1.0));
  CHECK_FALSE(holds<bool>(int64_t{2}));
  CHECK(holds<half>(65504.0));
  CHECK(holds<half>(65519.0));
  CHECK_FALSE(holds<half>(65520.0));
  CHECK_FALSE(holds<float>(1e39));
  CHECK(holds<float>(std::numeric_limits<int64_t>::max()));
}

TEST_CASE("a conversion keeps what is held and names the first element that is not") {
  CHECK(identical(convert_exactly(values<double>({1, -2}), DType::int8, "x"), values<int8_t>({1, -2})));
  CHECK(identical(convert_exactly(values<double>({0.1}), DType::float32, "x"), values<float>({0.1F})));
  CHECK(refusal(values<double>({1, 2.5}), DType::int8) == "x: 2.5 cannot become int8: it is not a whole number");
  CHECK(refusal(values<int64_t>({1, 300}), DType::uint8) == "x: 300 cannot become uint8: it is not in 0..255");
  CHECK(refusal(values<uint64_t>({std::numeric_limits<uint64_t>::max()}), DType::int64) ==
        "x: 18446744073709551615 cannot become int64: it is not in -9223372036854775808..9223372036854775807");
  CHECK(refusal(values<float>({0.5F}), DType::boolean) == "x: 0.5 cannot become bool: it is neither 0 nor 1");
  CHECK(refusal(values<double>({1e39}), DType::float32) == "x: 1e+39 cannot become float32: it is too large");
  CHECK(refusal(values<float>({1}), DType::float8_143) == "x: expected float8_143, got float32");
}

TEST_CASE("filling refuses what the dtype does not hold") {
  CHECK_THROWS_AS(Array::full(DType::int32, {2}, 1.5), Error);
  CHECK_THROWS_AS(Array::full_int(DType::uint8, {2}, 256), Error);
  CHECK_THROWS_AS(Array::full_int(DType::uint8, {0}, 256), Error);
  CHECK(Array::full(DType::float16, {1}, 0.1).dtype() == DType::float16);
  CHECK(identical(Array::repeated(Array::scalar<int16_t>(-3), {5}), values<int16_t>({-3, -3, -3, -3, -3})));
  CHECK(Array::repeated(Array::scalar(1.0F), {0, 4}).size() == 0);
}
