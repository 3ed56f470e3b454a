// Gather, scatter and one-hot kernels.
#include "runtime/kernels/indexing/index.hpp"

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

TEST_CASE("rows with any number of elements are added in the order of their indices") {
  for (DType dtype : {DType::float32, DType::float64, DType::float16})
    for (int64_t inner : {1, 2, 7, 8, 9, 1030})
      for (bool ignore : {false, true}) {
        constexpr int64_t outer = 3, extent = 5, n = 300;
        const Shape whole{outer, extent, inner};
        const Array dy = ramp(dtype, {outer, n, inner}, 3);
        Array i(DType::int32, {n});
        for (int64_t k = 0; k < n; ++k) i.mutable_data<int32_t>()[k] = static_cast<int32_t>(k * 7 % 11 % 7 - 1);
        if (!ignore)
          for (int64_t k = 0; k < n; ++k) i.mutable_data<int32_t>()[k] %= static_cast<int32_t>(extent);
        std::vector<double> sums(static_cast<size_t>(outer * extent * inner));
        for (int64_t k = 0; k < outer * n * inner; ++k) {
          const int64_t given = i.data<int32_t>()[k / inner % n], at = given < 0 && !ignore ? given + extent : given;
          if (at >= 0 && at < extent)
            sums[static_cast<size_t>((k / (n * inner) * extent + at) * inner + k % inner)] += dy.number(k);
        }
        const Array y = run(scatter_add_kernel(spec(dtype, whole), i.spec(), 1, ignore), {dy, i}, spec(dtype, whole));
        for (int64_t k = 0; k < y.size(); ++k)
          CHECK(close(y.number(k), sums[static_cast<size_t>(k)], dtype == DType::float16 ? tolerance(dtype) : 0));
      }
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

TEST_CASE("elements along an axis that is long, in rows of many columns, with indices of any integer dtype") {
  // Blocks of columns become narrower as the axis grows (256 KiB): all of their widths, and tails.
  for (const Shape& shape : {Shape{3, 600}, Shape{700, 83}, Shape{5000, 21}, Shape{2, 400, 70}})
    for (const auto& [index, negative] : std::initializer_list<std::pair<DType, bool>>{{DType::int32, true},
                                                                                       {DType::int32, false},
                                                                                       {DType::int64, true},
                                                                                       {DType::uint32, false},
                                                                                       {DType::int16, true}}) {
      const int64_t axis = std::ssize(shape) - 2, rows = shape[static_cast<size_t>(axis)], n = shape.back();
      const Array t = ramp(DType::int32, shape);
      Array i(index, shape), v(DType::int32, shape);
      for (int64_t k = 0; k < i.size(); ++k) {
        const int64_t at = k * 7919 % rows;
        write_number(index, i.mutable_raw(), k, static_cast<double>(negative && k % 2 == 1 ? at - rows : at));
        v.mutable_data<int32_t>()[k] = static_cast<int32_t>(-k);
      }
      const auto place = [&](int64_t k) { return k / (rows * n) * rows * n + k * 7919 % rows * n + k % n; };
      std::vector<int32_t> scattered(t.data<int32_t>(), t.data<int32_t>() + t.size()), sums(scattered.size());
      for (int64_t k = 0; k < i.size(); ++k) {
        scattered[static_cast<size_t>(place(k))] = static_cast<int32_t>(-k);
        sums[static_cast<size_t>(place(k))] -= static_cast<int32_t>(k);
      }
      const auto equal = [](const Array& a, const std::vector<int32_t>& b) {
        return std::equal(b.begin(), b.end(), a.data<int32_t>());
      };
      CHECK(equal(run(scatter_kernel(t.spec(), i.spec(), axis), {t, i, v}, t.spec()), scattered));
      CHECK(equal(
          run(scatter_reduce_kernel(ScatterReduction::sum, v.spec(), i.spec(), axis, rows, false), {v, i}, t.spec()),
          sums));
      const Array taken = run(take_along_kernel(t.spec(), i.spec(), axis), {t, i}, t.spec());
      bool right = true;
      for (int64_t k = 0; k < i.size(); ++k) right &= taken.data<int32_t>()[k] == t.data<int32_t>()[place(k)];
      CHECK(right);
      // The first index out of range is the one that the error names.
      Array bad = i;
      write_number(index, bad.mutable_raw(), i.size() / 2, static_cast<double>(rows));
      CHECK_THROWS_WITH_AS(run(take_along_kernel(t.spec(), i.spec(), axis), {t, bad}, t.spec()),
                           doctest::Contains(std::to_string(rows).c_str()), Error);
    }
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
