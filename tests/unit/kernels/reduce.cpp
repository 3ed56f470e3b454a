// Reductions and running sums against plain loops.
#include "runtime/kernels/reduction/reduce.hpp"

#include <cstring>
#include <map>

#include "tests/unit/kernels/axis_groups.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

bool is_signed(DType dtype) {
  return dtype == DType::int8 || dtype == DType::int16 || dtype == DType::int32 || dtype == DType::int64;
}

double expected(Reduction op, const std::vector<double>& v) {
  double sum = 0, l1 = 0, squares = 0, product = 1, max = -inf, min = inf, exps = 0;
  for (double x : v) {
    sum += x, l1 += std::fabs(x), squares += x * x, product *= x, exps += std::exp(x);
    max = std::max(max, x), min = std::min(min, x);
  }
  const double n = static_cast<double>(v.size());
  double deviations = 0;
  for (double x : v) deviations += (x - sum / n) * (x - sum / n);
  switch (op) {
    case Reduction::sum: return sum;
    case Reduction::mean: return sum / n;
    case Reduction::max: return max;
    case Reduction::min: return min;
    case Reduction::prod: return product;
    case Reduction::l1: return l1;
    case Reduction::l2: return std::sqrt(squares);
    case Reduction::sumsquare: return squares;
    case Reduction::logsum: return std::log(sum);
    case Reduction::logsumexp: return std::log(exps);
    case Reduction::variance: return deviations / n;
    case Reduction::deviation: return std::sqrt(deviations / n);
    default: return 0;
  }
}

}  // namespace

TEST_CASE("ln(sum e^x) of columns, whose largest elements may be infinities or NaN, is that of each column by itself") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const int64_t rows : {1, 2, 19})
      for (const int64_t columns : {1, 5, 64, 301}) {
        Array x = ramp(dtype, {2, rows, columns}, static_cast<int>(columns));
        const double sharp[] = {inf, -inf, not_a_number, -0.0, 1000, -1000};
        for (int64_t i = 0; i < x.size(); i += 3)
          write_number(dtype, x.mutable_raw(), i, sharp[i / 3 % std::ssize(sharp)]);
        const TensorSpec out = spec(dtype, {2, columns});
        const Array y = check_divided(reduce_kernel(Reduction::logsumexp, x.spec(), {1}, dtype), {x}, {out})[0];
        for (int64_t i = 0; i < y.size(); ++i) {
          Array column(dtype, {rows});
          for (int64_t r = 0; r < rows; ++r)
            write_number(dtype, column.mutable_raw(), r, x.number((i / columns * rows + r) * columns + i % columns));
          const Array one =
              run(reduce_kernel(Reduction::logsumexp, column.spec(), {0}, dtype), {column}, spec(dtype, {}));
          CAPTURE(rows);
          CAPTURE(i);
          CHECK((std::isnan(one.number(0)) ? std::isnan(y.number(i)) : close(y.number(i), one.number(0), 1e-6)));
        }
      }
}

TEST_CASE("reductions over any axes") {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> shapes{{{7}, {0}},
                                                                   {{5, 67}, {1}},
                                                                   {{67, 5}, {0}},
                                                                   {{2, 3, 4, 5}, {1, 3}},
                                                                   {{2, 3, 4, 5}, {0, 2}},
                                                                   {{2, 3, 4}, {-1, 0, 1}},
                                                                   {{3, 1, 4}, {1}},
                                                                   {{}, {}},
                                                                   {{4, 3}, {}},
                                                                   {{1100, 2}, {0}},
                                                                   {{37, 150}, {0}},
                                                                   {{3, 37, 70}, {1}},
                                                                   {{3, 1, 70}, {1}},
                                                                   {{2, 2100}, {1}}};
  for (const auto& [shape, axes] : shapes) {
    for (int op = 0; op <= static_cast<int>(Reduction::deviation); ++op) {
      for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int32}) {
        const Reduction r = static_cast<Reduction>(op);
        const bool floating = is_floating(dtype);
        if (!floating && (r == Reduction::l2 || op >= static_cast<int>(Reduction::logsum) || r == Reduction::prod))
          continue;
        Array x = ramp(dtype, shape);
        if (r == Reduction::logsum) x = run(unary_kernel(Unary::abs, dtype, x.size()), {x}, x.spec());
        CAPTURE(name(r));
        CAPTURE(text(x.spec()));
        const Array y =
            run(reduce_kernel(r, x.spec(), axes, dtype), {x}, spec(dtype, reduced_shape(shape, axes, false)));
        const auto parts = groups(x, axes);
        for (int64_t i = 0; i < y.size(); ++i) {
          double e = expected(r, parts[static_cast<size_t>(i)]);
          if (!floating) e = std::trunc(e);
          if (dtype == DType::float16 && std::fabs(e) > 65504) e = e > 0 ? inf : -inf;
          CHECK(close(y.number(i), e, tolerance(dtype)));
        }
      }
    }
  }
}

TEST_CASE("integers of every width, over columns, rows and everything, wrap in 64 bits") {
  // Small, and enough elements for several pieces; over one axis or both.
  for (DType dtype : {DType::boolean, DType::int8, DType::int16, DType::int32, DType::int64, DType::uint8,
                      DType::uint16, DType::uint32, DType::uint64})
    for (const Shape& shape : {Shape{3, 37}, Shape{37, 3}, Shape{211, 103}})
      for (const std::vector<int64_t>& axes :
           {std::vector<int64_t>{0}, std::vector<int64_t>{1}, std::vector<int64_t>{0, 1}})
        for (Reduction op : {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::prod,
                             Reduction::l1, Reduction::sumsquare}) {
          CAPTURE(name(op));
          CAPTURE(name(dtype));
          CAPTURE(bracket_text(shape));
          Array x = Array::zeros(dtype, shape);
          for (int64_t i = 0; i < x.size(); ++i)
            write_number(dtype, x.mutable_raw(), i,
                         static_cast<double>((i * 37 + 11) % 251 - (is_signed(dtype) ? 125 : 0)));
          const bool is_unsigned = !is_signed(dtype);
          const DType wide = is_unsigned ? DType::uint64 : DType::int64;
          const Array y =
              run(reduce_kernel(op, x.spec(), axes, wide), {x}, spec(wide, reduced_shape(shape, axes, false)));
          const auto parts = groups(x, axes);
          for (int64_t i = 0; i < y.size(); ++i) {
            uint64_t sum = 0, product = 1, l1 = 0, squares = 0;
            double largest = -inf, smallest = inf;
            for (double v : parts[static_cast<size_t>(i)]) {
              const auto u = static_cast<uint64_t>(static_cast<int64_t>(v));
              sum += u, product *= u, squares += u * u, l1 += static_cast<uint64_t>(std::fabs(v));
              largest = std::max(largest, v), smallest = std::min(smallest, v);
            }
            const auto count = static_cast<int64_t>(parts[static_cast<size_t>(i)].size());
            const std::map<Reduction, uint64_t> expected_of{
                {Reduction::sum, sum},
                {Reduction::mean, is_unsigned ? sum / static_cast<uint64_t>(count)
                                              : static_cast<uint64_t>(static_cast<int64_t>(sum) / count)},
                {Reduction::max, static_cast<uint64_t>(static_cast<int64_t>(largest))},
                {Reduction::min, static_cast<uint64_t>(static_cast<int64_t>(smallest))},
                {Reduction::prod, product},
                {Reduction::l1, l1},
                {Reduction::sumsquare, squares}};
            CHECK(reinterpret_cast<const uint64_t*>(y.raw())[i] == expected_of.at(op));
          }
        }
}

TEST_CASE("integers' extremes are found at each place of lines with any length") {
  for (DType dtype : {DType::int8, DType::uint8, DType::int16, DType::int32, DType::uint64})
    for (Reduction op : {Reduction::max, Reduction::min})
      for (int64_t n : {1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 127, 128, 129, 161, 300}) {
        CAPTURE(name(dtype));
        CAPTURE(n);
        // Line i has its extreme at element i. Other elements are on both sides of the middle.
        Array x = Array::full_int(dtype, {n, n}, 60);
        for (int64_t i = 0; i < n; ++i)
          write_number(dtype, x.mutable_raw(), i * n + i, op == Reduction::max ? 90.0 : 30.0);
        for (const int64_t axis : {0, 1}) {
          const Array y = run(reduce_kernel(op, x.spec(), {axis}, dtype), {x}, spec(dtype, {n}));
          for (int64_t i = 0; i < n; ++i) CHECK(y.integer(i) == (op == Reduction::max ? 90 : 30));
        }
      }
}

TEST_CASE("sums keep their accuracy, extremes see NaN, empty sums are 0") {
  Array x = Array::full(DType::float32, {3'000'001}, 0.1);
  const double sum =
      run(reduce_kernel(Reduction::sum, x.spec(), {0}, DType::float32), {x}, spec(DType::float32, {})).number(0);
  CHECK(close(sum, 3'000'001 * static_cast<double>(0.1f), 1e-7));
  for (int64_t at : {0, 5, 20, 36}) {
    Array y = ramp(DType::float32, {37});
    y.mutable_data<float>()[at] = static_cast<float>(not_a_number);
    CHECK(std::isnan(
        run(reduce_kernel(Reduction::max, y.spec(), {0}, DType::float32), {y}, spec(DType::float32, {})).number(0)));
    CHECK(run(arg_kernel(false, y.spec(), 0), {y}, spec(DType::int32, {})).number(0) == static_cast<double>(at));
  }
  const Array none(DType::float32, {2, 0});
  CHECK(numbers(run(reduce_kernel(Reduction::sum, none.spec(), {1}, DType::float32), {none},
                    spec(DType::float32, {2}))) == std::vector<double>{0, 0});
  CHECK_THROWS_AS(reduce_kernel(Reduction::max, none.spec(), {1}, DType::float32), Error);
  CHECK_THROWS_AS(reduce_kernel(Reduction::sum, none.spec(), {0, -2}, DType::float32), Error);
  CHECK_THROWS_AS(reduce_kernel(Reduction::sum, none.spec(), {2}, DType::float32), Error);
  CHECK_THROWS_AS(reduce_kernel(Reduction::l2, spec(DType::int32, {2}), {0}, DType::int32), Error);
  const Array low = Array::full(DType::float32, {3}, -inf);
  CHECK(run(reduce_kernel(Reduction::logsumexp, low.spec(), {0}, DType::float32), {low}, spec(DType::float32, {}))
            .number(0) == -inf);
  const Array big = Array::full(DType::float32, {4}, 1000);
  CHECK(close(run(reduce_kernel(Reduction::logsumexp, big.spec(), {0}, DType::float32), {big}, spec(DType::float32, {}))
                  .number(0),
              1000 + std::log(4.0), 1e-6));
}

TEST_CASE("extremes of columns: NaN stays wherever it is, -0 is less than 0, infinities") {
  for (DType dtype : {DType::float32, DType::float64})
    for (int64_t n : {1, 3, 17, 70, 150})
      for (int64_t rows : {1, 2, 16, 33}) {
        Array x = ramp(dtype, {2, rows, n});
        // Column c of the first matrix has a NaN in row c, those of the second begin with -0 and end with 0.
        for (int64_t c = 0; c < n; ++c) {
          write_number(dtype, x.mutable_raw(), c % rows * n + c, not_a_number);
          for (int64_t r = 0; r < rows; ++r)
            write_number(dtype, x.mutable_raw(), (rows + r) * n + c, r + 1 < rows ? -0.0 : 0.0);
        }
        for (Reduction op : {Reduction::max, Reduction::min}) {
          const Array y = run(reduce_kernel(op, x.spec(), {1}, dtype), {x}, spec(dtype, {2, n}));
          for (int64_t c = 0; c < n; ++c) {
            CHECK(std::isnan(y.number(c)));
            CHECK(y.number(n + c) == 0);
            CHECK(std::signbit(y.number(n + c)) == (op == Reduction::min && rows > 1));
          }
        }
        const Array low = Array::full(dtype, {rows, n}, -inf);
        CHECK(run(reduce_kernel(Reduction::max, low.spec(), {0}, dtype), {low}, spec(dtype, {n})).number(n - 1) ==
              -inf);
      }
}

TEST_CASE("reductions of many short rows have the bits of each row by itself, around rows and within") {
  const int64_t outer = 5, rows = 301;
  for (const DType dtype : floats)
    for (const int64_t n : {1, 2, 3, 7, 8, 9, 31, 64, 65}) {
      Array x = ramp(dtype, {outer, rows, n}, 3);
      for (Reduction op :
           {Reduction::sum, Reduction::mean, Reduction::max, Reduction::min, Reduction::prod, Reduction::l1,
            Reduction::l2, Reduction::sumsquare, Reduction::logsumexp, Reduction::deviation}) {
        CAPTURE(name(op));
        CAPTURE(n);
        const Kernel kernel = reduce_kernel(op, x.spec(), {2}, dtype);
        const Array y = check_divided(kernel, {x}, {spec(dtype, {outer, rows})})[0];
        const Kernel single = reduce_kernel(op, spec(dtype, {n}), {0}, dtype);
        bool same = true;
        for (int64_t r = 0; r < outer * rows; ++r) {
          Array row(dtype, {n});
          std::memcpy(row.mutable_raw(), x.raw() + r * row.bytes(), static_cast<size_t>(row.bytes()));
          same = same && run(single, {row}, spec(dtype, {})).number(0) == y.number(r);
        }
        CHECK(same);
        if (op != Reduction::max && op != Reduction::min) continue;
        const Array around = run(reduce_kernel(op, x.spec(), {0, 2}, dtype), {x}, spec(dtype, {rows}));
        const Array twice = run(reduce_kernel(op, y.spec(), {0}, dtype), {y}, spec(dtype, {rows}));
        CHECK(identical(around, twice));
      }
    }
}

TEST_CASE("the first extreme of short lines, of equal elements, NaN and zeros of both signs") {
  const Array x = make(DType::float64, {5, 3}, {1, 3, 3, -2, not_a_number, 5, -0.0, 0.0, -1, 7, 7, 7, 2, 1, 2});
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Array y = x.cast(dtype);
    CHECK(numbers(run(arg_kernel(true, y.spec(), 1), {y}, spec(DType::int32, {5}))) ==
          std::vector<double>{1, 1, 0, 0, 0});
    CHECK(numbers(run(arg_kernel(false, y.spec(), 1), {y}, spec(DType::int32, {5}))) ==
          std::vector<double>{0, 1, 2, 0, 1});
  }
}

TEST_CASE("the extreme of long lines and its place, wherever it is; the first NaN, wherever it is") {
  for (const DType dtype : {DType::float32, DType::float64})
    for (const int64_t n : {9, 31, 33, 101})
      for (int64_t at = 0; at < n; ++at) {
        const auto with = [&](double value) {
          Array x = Array::full(dtype, {n}, 1);
          write_number(dtype, x.mutable_raw(), at, value);
          if (at + 2 < n) write_number(dtype, x.mutable_raw(), at + 2, value);
          return x;
        };
        const TensorSpec one = spec(dtype, {}), place = spec(DType::int32, {});
        for (const bool largest : {false, true}) {
          const Reduction op = largest ? Reduction::max : Reduction::min;
          const Array x = with(largest ? 2 : -2), bad = with(not_a_number);
          CHECK(run(reduce_kernel(op, x.spec(), {0}, dtype), {x}, one).number(0) == (largest ? 2 : -2));
          CHECK(run(arg_kernel(largest, x.spec(), 0), {x}, place).number(0) == static_cast<double>(at));
          CHECK(std::isnan(run(reduce_kernel(op, bad.spec(), {0}, dtype), {bad}, one).number(0)));
          CHECK(run(arg_kernel(largest, bad.spec(), 0), {bad}, place).number(0) == static_cast<double>(at));
        }
      }
}

TEST_CASE("the extreme in a line of integers is found at every position") {
  for (const DType dtype : {DType::boolean, DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32,
                            DType::uint32, DType::int64, DType::uint64})
    for (const int64_t n : {5, 9, 33, 130, 300})
      for (int64_t at = 0; at < n; ++at)
        for (const bool largest : {false, true}) {
          CAPTURE(name(dtype));
          const double usual = dtype == DType::boolean ? (largest ? 0 : 1) : 3,
                       extreme = largest ? usual + 1 : usual - 1;
          Array x = Array::full(dtype, {n}, usual);
          write_number(dtype, x.mutable_raw(), at, extreme);
          if (at + 2 < n) write_number(dtype, x.mutable_raw(), at + 2, extreme);
          CHECK(run(arg_kernel(largest, x.spec(), 0), {x}, spec(DType::int32, {})).number(0) ==
                static_cast<double>(at));
        }
}
