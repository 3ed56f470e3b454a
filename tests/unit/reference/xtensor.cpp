// Regression tests of runtime/reference/xtensor.hpp: evaluation keeps the rank, and reductions broadcast.
#include "runtime/reference/xtensor.hpp"

#include <doctest/doctest.h>

#include <numeric>

TEST_CASE("evaluating an expression of dynamic rank keeps its rank") {
  xt::xarray<float> a = xt::arange<float>(6).reshape({2, 3});
  auto sum = xt::eval(a + 1.0f);
  CHECK(sum.dimension() == 2);
  CHECK(sum.shape(0) == 2);
  CHECK(sum.shape(1) == 3);
  CHECK(sum(1, 2) == 6.0f);
  xt::xarray<float> vector = {1.0f, 2.0f, 3.0f};
  CHECK(xt::eval(vector * 2.0f).dimension() == 1);
  CHECK(xt::eval(a * vector).dimension() == 2);
  xt::xarray<float> high = xt::ones<float>(std::vector<std::size_t>{1, 2, 1, 3, 2});
  CHECK(xt::eval(high + high).dimension() == 5);
}

TEST_CASE("variance and immediate reductions work") {
  xt::xarray<double> a = {{1.0, 2.0, 3.0}, {5.0, 7.0, 9.0}};
  auto variance = xt::eval(xt::variance(a, {1}));
  REQUIRE(variance.dimension() == 1);
  CHECK(variance(0) == doctest::Approx(2.0 / 3.0));
  CHECK(variance(1) == doctest::Approx(8.0 / 3.0));
  xt::xarray<double> total = xt::sum(a, {0}, xt::evaluation_strategy::immediate);
  REQUIRE(total.dimension() == 1);
  CHECK(total(2) == 12.0);
}

TEST_CASE("reductions that keep their axes broadcast once evaluated") {
  xt::xarray<float> a = {{1.0f, 2.0f, 3.0f}, {5.0f, 7.0f, 9.0f}};
  auto mean = xt::eval(xt::mean(a, {1}, xt::keep_dims));
  REQUIRE(mean.dimension() == 2);
  CHECK(mean.shape(1) == 1);
  auto centred = xt::eval(a - mean);
  CHECK(centred == xt::xarray<float>{{-1.0f, 0.0f, 1.0f}, {-2.0f, 0.0f, 2.0f}});
  auto by_column = xt::eval(a / xt::eval(xt::amax(a, {0}, xt::keep_dims)));
  CHECK(by_column(1, 2) == 1.0f);
  CHECK(by_column(0, 0) == doctest::Approx(0.2f));
}

TEST_CASE("a view shares the memory it is given") {
  std::vector<float> data(6);
  std::iota(data.begin(), data.end(), 0.0f);
  std::vector<int64_t> shape{2, 3};
  auto view = pxl::as_xtensor(data.data(), shape);
  view(1, 0) = 30.0f;
  CHECK(data[3] == 30.0f);
  xt::noalias(view) = view * 2.0f;
  CHECK(data[5] == 10.0f);
  const float* constant = data.data();
  CHECK(pxl::as_xtensor(constant, shape)(0, 2) == 4.0f);
}
