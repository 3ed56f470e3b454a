// What print_tensor prints.
// covers: G128
#include "runtime/kernels/outside/print.hpp"

#include <doctest/doctest.h>

using namespace pxl;

namespace {

Array counted(const Shape& shape) {
  Array a(DType::float32, shape);
  for (int64_t i = 0; i < a.size(); ++i) a.mutable_data<float>()[i] = static_cast<float>(i + 1);
  return a;
}

}  // namespace

TEST_CASE("tensors as text") {
  PrintFormat f;
  f.title = "t";
  CHECK(print_text(counted({}), f) == "t: 1.0\n");
  CHECK(print_text(counted({2}), f) == "t: [1.0 2.0]\n");
  CHECK(print_text(counted({0}), f) == "t: []\n");
  CHECK(print_text(counted({2, 2}), f) == "t: [\n [1.0 2.0]\n [3.0 4.0]\n]\n\n");
  CHECK(print_text(counted({1, 2, 1}), f) == "t: [\n [\n  [1.0]\n  [2.0]\n ]\n]\n\n");
  f.threshold = 4;
  f.edge_items = 1;
  CHECK(print_text(counted({5}), f) == "t: [1.0 ... 5.0]\n");
  CHECK(print_text(counted({3, 3}), f) == "t: [\n [1.0 ... 3.0]\n ...\n [7.0 ... 9.0]\n]\n\n");
  f.threshold = 1000;
  f.line_width = 14;
  CHECK(print_text(counted({4}), f) == "t: [1.0 2.0\n 3.0 4.0]\n");
  f.line_width = 75;
  f.floats = FloatFormat::fixed;
  f.digits = 2;
  f.separator = ", ";
  f.open = "(";
  f.close = ")";
  CHECK(print_text(counted({2}), f) == "t: (1.00, 2.00)\n");
  f.floats = FloatFormat::scientific;
  CHECK(print_text(counted({1}), f) == "t: (1.00e+00)\n");
}
