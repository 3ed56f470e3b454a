// Shape arithmetic and its refusals.
#include "runtime/tensor/shape.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "runtime/base/diagnostics/diagnostic.hpp"

using namespace pxl;

TEST_CASE("element counts are checked") {
  CHECK(element_count({}) == 1);
  CHECK(element_count({2, 3, 4}) == 24);
  CHECK(element_count({5, 0, 7}) == 0);
  CHECK(element_count({int64_t{1} << 48}) == int64_t{1} << 48);
  CHECK_THROWS_WITH_AS(element_count({int64_t{1} << 48, 2}),
                       "shape [281474976710656, 2] is a tensor larger than memory", Error);
  CHECK_THROWS_AS(element_count({std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()}), Error);
  CHECK_THROWS_AS(element_count({0, int64_t{1} << 40, int64_t{1} << 40}), Error);
  CHECK_THROWS_WITH_AS(element_count({2, -1}), "shape [2, -1] has a negative extent", Error);
  CHECK(element_count(Shape(32, 1)) == 1);
  CHECK_THROWS_WITH_AS(element_count(Shape(33, 1)), "a tensor has at most 32 axes, shape [1, 1, 1, 1, ...] has 33",
                       Error);
}

TEST_CASE("shapes as text") {
  CHECK(tuple_text({}) == "()");
  CHECK(tuple_text({32}) == "(32,)");
  CHECK(tuple_text({2, 4}) == "(2, 4)");
  CHECK(bracket_text({}) == "[]");
  CHECK(bracket_text({2, 4}) == "[2, 4]");
  CHECK(text(TensorSpec{{8, 784}, DType::float32, {}}) == "float32[8, 784]");
  CHECK(text(TensorSpec{{}, DType::boolean, {}}) == "bool[]");
}

TEST_CASE("broadcasting follows NumPy") {
  CHECK(broadcast({2, 3}, {3}) == Shape{2, 3});
  CHECK(broadcast({2, 1, 4}, {5, 1}) == Shape{2, 5, 4});
  CHECK(broadcast({}, {7}) == Shape{7});
  CHECK(broadcast({0}, {1}) == Shape{0});
  CHECK(broadcastable_to({3}, {2, 3}));
  CHECK(broadcastable_to({1, 3}, {2, 3}));
  CHECK_FALSE(broadcastable_to({2, 3}, {3}));
  CHECK_FALSE(broadcastable_to({2}, {2, 3}));
  try {
    broadcast({2, 3}, {4});
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.first().message == "shapes [2, 3] and [4] cannot be broadcast together");
    REQUIRE(error.first().notes.size() == 1);
    CHECK(error.first().notes[0] == "axis -1 is 3 and 4; extents must be equal or 1");
  }
  CHECK_THROWS_AS(broadcast({0}, {2}), Error);
}

TEST_CASE("axes wrap and are checked") {
  CHECK(normalise_axis(-1, 3) == 2);
  CHECK(normalise_axis(0, 1) == 0);
  CHECK_THROWS_WITH_AS(normalise_axis(3, 3), "axis 3 is out of range for rank 3", Error);
  CHECK_THROWS_AS(normalise_axis(-4, 3), Error);
  CHECK_THROWS_WITH_AS(normalise_axis(0, 0), "axis 0 is out of range: a scalar has no axes", Error);
  CHECK_THROWS_AS(normalise_axis(std::numeric_limits<int64_t>::min(), 2), Error);
}

TEST_CASE("strides are in elements, row-major") {
  CHECK(strides_of({2, 3, 4}) == Shape{12, 4, 1});
  CHECK(strides_of({}).empty());
}
