// Gather, scatter and one-hot kernels.
#include "runtime/kernels/indexing/index.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

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
