// Printing beyond the table: summaries, options, single numbers.
#include "runtime/tensor/print.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "runtime/tensor/float8.hpp"

using namespace pxl;

namespace {
template <class T>
Array counting(Shape shape) {
  Array a(dtype_of<T>(), std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<T>()[i] = static_cast<T>(i);
  return a;
}
}  // namespace

TEST_CASE("more than 1000 elements are summarised, as NumPy does") {
  CHECK(to_text(counting<int64_t>({1001})) == "[   0    1    2 ...  998  999 1000]");
  CHECK(to_text(counting<int64_t>({1000})).find("...") == std::string::npos);
  CHECK(to_text(counting<int32_t>({2, 1000, 1})) == R"([[[   0]
  [   1]
  [   2]
  ...
  [ 997]
  [ 998]
  [ 999]]

 [[1000]
  [1001]
  [1002]
  ...
  [1997]
  [1998]
  [1999]]])");
  CHECK(to_text(counting<float>({7, 300}), {.separator = ", "}) ==
        R"([[0.000e+00, 1.000e+00, 2.000e+00, ..., 2.970e+02, 2.980e+02, 2.990e+02],
 [3.000e+02, 3.010e+02, 3.020e+02, ..., 5.970e+02, 5.980e+02, 5.990e+02],
 [6.000e+02, 6.010e+02, 6.020e+02, ..., 8.970e+02, 8.980e+02, 8.990e+02],
 ...,
 [1.200e+03, 1.201e+03, 1.202e+03, ..., 1.497e+03, 1.498e+03, 1.499e+03],
 [1.500e+03, 1.501e+03, 1.502e+03, ..., 1.797e+03, 1.798e+03, 1.799e+03],
 [1.800e+03, 1.801e+03, 1.802e+03, ..., 2.097e+03, 2.098e+03, 2.099e+03]])");
}

TEST_CASE("summarised arrays look at the shown corners only") {
  Array a = counting<float>({1100});
  for (int64_t i = 0; i < 1100; ++i) a.mutable_data<float>()[i] = i == 500 ? 1e30f : 1.0f;
  CHECK(to_text(a) == "[1. 1. 1. ... 1. 1. 1.]");
}

TEST_CASE("options: threshold, edge items, width") {
  CHECK(to_text(counting<int32_t>({10}), {.threshold = 5, .edge_items = 2}) == "[0 1 ... 8 9]");
  CHECK(to_text(counting<int32_t>({10}), {.threshold = 5, .edge_items = 0}) == "[0 ... 9]");
  CHECK(to_text(counting<int32_t>({8}), {.line_width = 8}) == "[0 1 2\n 3 4 5\n 6 7]");
  CHECK(to_text(counting<int32_t>({2}), {.line_width = 0}) == "[0\n 1]");
}

TEST_CASE("single numbers print as Python floats") {
  CHECK(number_text(0.05) == "0.05");
  CHECK(number_text(1e-05) == "1e-05");
  CHECK(number_text(0.0001) == "0.0001");
  CHECK(number_text(1.0) == "1.0");
  CHECK(number_text(-0.0) == "-0.0");
  CHECK(number_text(1e16) == "1e+16");
  CHECK(number_text(9999999999999998.0) == "9999999999999998.0");
  CHECK(number_text(1.5e300) == "1.5e+300");
  CHECK(number_text(5e-324) == "5e-324");
  CHECK(number_text(std::nan("")) == "nan");
  CHECK(number_text(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(number_text(0.1f) == "0.1");
  CHECK(number_text(16777216.0f) == "16777216.0");
  CHECK(number_text(1.0f / 3.0f) == "0.33333334");
  CHECK(number_text(half(0.1f)) == "0.1");
  CHECK(number_text(half(1.0f / 3.0f)) == "0.3333");
  CHECK(number_text(half(65504.0f)) == "65500.0");
  CHECK(number_text(half(6e-8f)) == "6e-08");
}

TEST_CASE("every half prints as something that reads back") {
  for (uint32_t bits = 0; bits < 0x7C00; ++bits) {
    half h;
    h.bits = static_cast<uint16_t>(bits);
    if (half(std::stof(number_text(h))) != h) FAIL("half ", bits, " prints as ", number_text(h));
  }
}

TEST_CASE("float8 prints as the float32 numbers that it stands for, summarised or not") {
  for (DType dtype : {DType::float8_143, DType::float8_152})
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{1001}, Shape{40, 50}, Shape{12, 7, 20}, Shape{6, 6, 6, 6}, Shape{3, 2000}}) {
      Array codes(dtype, shape);
      for (int64_t i = 0; i < codes.size(); ++i) codes.mutable_raw()[i] = static_cast<std::byte>(i * 11 % 113);
      const Array numbers = from_float8(codes, DType::float32, 0);
      CHECK(to_text(codes) == to_text(numbers));
      PrintOptions all;
      all.threshold = 1 << 20;
      CHECK(to_text(codes, all) == to_text(numbers, all));
      PrintOptions edges;
      edges.threshold = 4;
      edges.edge_items = 1;
      CHECK(to_text(codes, edges) == to_text(numbers, edges));
    }
}
