// Gather, scatter and one-hot kernels.
#include "runtime/kernels/index.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

using Numbers = std::vector<double>;

TEST_CASE("gather and its gradient") {
  const Array x = make(DType::float32, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), i = make(DType::int32, {3}, {3, 1, 3});
  const Array y = run(gather_kernel(x.spec(), i.spec(), 0), {x, i}, spec(DType::float32, {3, 2}));
  CHECK(numbers(y) == Numbers{6, 7, 2, 3, 6, 7});
  for (DType dtype : floats) {
    const Array dy = make(dtype, {3, 2}, {1, 2, 3, 4, 5, 6});
    CHECK(numbers(run(scatter_add_kernel(spec(dtype, {4, 2}), i.spec(), 0), {dy, i}, spec(dtype, {4, 2}))) ==
          Numbers{0, 0, 3, 4, 0, 0, 6, 8});
  }
  const Array j = make(DType::uint32, {1, 2}, {1, 0});
  CHECK(gather_shape({4, 2}, {1, 2}, 1) == Shape{4, 1, 2});
  CHECK(numbers(run(gather_kernel(x.spec(), j.spec(), 1), {x, j}, spec(DType::float32, {4, 1, 2}))) ==
        Numbers{1, 0, 3, 2, 5, 4, 7, 6});
  const Array last = make(DType::int32, {1}, {-1});
  CHECK(numbers(run(gather_kernel(x.spec(), last.spec(), 0), {x, last}, spec(DType::float32, {1, 2}))) ==
        Numbers{6, 7});
  for (double bad : {-5.0, 4.0}) {
    const Array k = make(DType::int32, {1}, {bad});
    CHECK_THROWS_WITH_AS(run(gather_kernel(x.spec(), k.spec(), 0), {x, k}, spec(DType::float32, {1, 2})),
                         doctest::Contains("out of range for axis 0 of extent 4"), Error);
    CHECK(numbers(run(gather_kernel(x.spec(), k.spec(), 0, true), {x, k}, spec(DType::float32, {1, 2}))) ==
          Numbers{0, 0});
  }
  // Grouped: row g of the indices reads group g of the data.
  const Array g = make(DType::int32, {2, 2}, {1, 0, 0, 0}), data = make(DType::float32, {2, 2}, {10, 11, 20, 21});
  CHECK(numbers(run(gather_kernel(data.spec(), g.spec(), 1, false, 1), {data, g}, spec(DType::float32, {2, 2}))) ==
        Numbers{11, 10, 20, 20});
  CHECK_THROWS_AS(gather_kernel(x.spec(), x.spec(), 0), Error);
}

TEST_CASE("scatter along an axis") {
  const Array t = Array::zeros(DType::float32, {3, 3}), i = make(DType::int32, {2, 3}, {1, 0, 2, 0, 2, 1}),
              v = make(DType::float32, {2, 3}, {1, 2, 3, 4, 5, 6});
  const Array y = run(scatter_kernel(t.spec(), i.spec(), 0), {t, i, v}, t.spec());
  CHECK(numbers(y) == Numbers{4, 2, 0, 1, 0, 6, 0, 5, 3});
  CHECK(numbers(run(take_along_kernel(t.spec(), i.spec(), 0), {y, i}, v.spec())) == Numbers{1, 2, 3, 4, 5, 6});
  CHECK(numbers(run(scatter_zero_kernel(t.spec(), i.spec(), 0), {y, i}, t.spec())) == Numbers(9, 0.0));
  const Array bad = make(DType::int32, {2, 3}, {1, 0, 2, 0, 3, 1});
  CHECK_THROWS_AS(run(scatter_kernel(t.spec(), bad.spec(), 0), {t, bad, v}, t.spec()), Error);
  CHECK_THROWS_AS(scatter_kernel(t.spec(), spec(DType::int32, {4, 4}), 0), Error);
}

TEST_CASE("scatter_reduce") {
  const Array d = make(DType::float16, {3, 2}, {1, 2, 3, 4, 5, 6}), i = make(DType::int32, {3}, {3, 0, 3});
  const TensorSpec out = spec(DType::float16, {5, 2});
  const auto reduce = [&](ScatterReduction op) {
    return numbers(run(scatter_reduce_kernel(op, d.spec(), i.spec(), 0, 5, false), {d, i}, out));
  };
  CHECK(reduce(ScatterReduction::sum) == Numbers{3, 4, 0, 0, 0, 0, 6, 8, 0, 0});
  CHECK(reduce(ScatterReduction::none) == Numbers{3, 4, 0, 0, 0, 0, 5, 6, 0, 0});
  CHECK(reduce(ScatterReduction::max) == Numbers{3, 4, -65504, -65504, -65504, -65504, 5, 6, -65504, -65504});
  const Array dy = ramp(DType::float16, {5, 2});
  const Numbers back = numbers(run(scatter_reduce_grad_kernel(d.spec(), i.spec(), 0, 5), {dy, i}, d.spec()));
  CHECK(back == Numbers{dy.number(6), dy.number(7), dy.number(0), dy.number(1), dy.number(6), dy.number(7)});
  const Array first = Array::full(DType::float16, {5, 2}, 1);
  CHECK(numbers(run(scatter_reduce_kernel(ScatterReduction::min, d.spec(), i.spec(), 0, 5, true), {d, i, first},
                    out)) == Numbers(10, 1.0));
}

TEST_CASE("onehot and its gradient") {
  const Array i = make(DType::int32, {1, 2}, {1, 5}), v = make(DType::float32, {2}, {0, 1});
  CHECK(numbers(run(onehot_kernel(i.spec(), 6, DType::float32, 1), {i, v}, spec(DType::float32, {1, 6, 2}))) ==
        Numbers{0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1});
  CHECK(numbers(run(onehot_kernel(i.spec(), 2, DType::float32, -1), {i, v}, spec(DType::float32, {1, 2, 2}))) ==
        Numbers{0, 1, 0, 0});
  const Array dy = make(DType::float32, {1, 2, 2}, {1, 2, 3, 4});
  CHECK(numbers(run(onehot_grad_kernel(i.spec(), 2, DType::float32, -1), {dy, i}, spec(DType::float32, {2}))) ==
        Numbers{8, 2});
}
