// Arrays under a budget: a large one has a spec and no elements.
#include <doctest/doctest.h>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tensor/array.hpp"
#include "runtime/tensor/print.hpp"

using namespace pxl;

TEST_CASE("a look leaves out the elements of large arrays, and of results made from them") {
  Budget budget;
  const BudgetScope scope(&budget);
  const Array small = Array::full(DType::float32, {10, 10}, 2);
  CHECK(small.has_elements());
  Array large = Array::full(DType::float32, {20000, 20000}, 2);
  CHECK_FALSE(large.has_elements());
  CHECK(large.size() == 400'000'000);
  CHECK(text(large.spec()) == "float32[20000, 20000]");
  CHECK_THROWS_AS((void)large.raw(), Unevaluated);
  CHECK_THROWS_AS(large.mutable_raw(), Unevaluated);
  CHECK_THROWS_AS((void)large.number(3), Unevaluated);
  CHECK_FALSE(large.cast(DType::int8).has_elements());
  CHECK(large.cast(DType::int8).dtype() == DType::int8);
  CHECK_FALSE(large.rows(1, 2).has_elements());
  CHECK(large.rows(1, 3).shape() == Shape{2, 20000});
  CHECK_FALSE(large.reshaped({400'000'000}).has_elements());
  CHECK_FALSE(large.clone().has_elements());
  CHECK_FALSE(identical(large, large));
  CHECK(to_text(large) == "<float32[20000, 20000]>");
}

TEST_CASE("a look's many arrays leave half of its memory to everything else") {
  Budget budget;
  const BudgetScope scope(&budget);
  std::vector<Array> kept;
  int with_elements = 0;
  for (int i = 0; i < 100; ++i) {
    kept.push_back(Array::zeros(DType::uint8, {4 << 20}));
    with_elements += kept.back().has_elements();
  }
  CHECK(with_elements >= 30);
  CHECK(with_elements <= 32);
  kept.clear();
  CHECK(Array::zeros(DType::uint8, {4 << 20}).has_elements());
}

TEST_CASE("without a budget every array has its elements") {
  CHECK(Array::zeros(DType::uint8, {64 << 20}).has_elements());
  CHECK(Array::full(DType::float32, {20 << 20}, 1).number(7) == 1);
}
