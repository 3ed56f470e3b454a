// Medians, sorting and the best elements against plain loops.
#include "runtime/kernels/reduction/reduce.hpp"

#include <algorithm>
#include <numeric>

#include "tests/unit/kernels/axis_groups.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("medians of short and long lines over any axes: the first of equal elements, or the first NaN") {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> shapes{{{1}, {0}},
                                                                   {{2, 3}, {0}},
                                                                   {{7, 1300}, {1}},
                                                                   {{1300, 7}, {0}},
                                                                   {{3, 40, 50}, {0, 2}},
                                                                   {{3, 40, 50}, {1}},
                                                                   {{3, 40, 50}, {0, 1, 2}},
                                                                   {{2, 0}, {0}}};
  for (DType dtype : {DType::boolean, DType::int8, DType::uint16, DType::int32, DType::int64, DType::float16,
                      DType::float32, DType::float64})
    for (const auto& lines : shapes)
      for (bool nan : {false, true}) {
        if (nan && !is_floating(dtype)) continue;
        const auto& shape = lines.first;
        const auto& axes = lines.second;
        CAPTURE(name(dtype));
        CAPTURE(bracket_text(shape));
        Array x(dtype, shape);
        for (int64_t i = 0; i < x.size(); ++i) {
          const auto k = static_cast<double>(i * 7919 % 251);
          const double v = is_floating(dtype) ? (k - 125) / 8 : dtype == DType::boolean ? (k < 120 ? 0 : 1) : k / 2;
          write_number(dtype, x.mutable_raw(), i, nan && i % 3 != 0 ? not_a_number : v == 0 && i % 2 == 0 ? -v : v);
        }
        const Shape out = reduced_shape(shape, axes, false);
        const auto y = run(median_kernel(x.spec(), axes), {x}, {spec(dtype, out), spec(DType::int32, out)});
        const auto parts = groups(x, axes);
        for (int64_t i = 0; i < y[0].size(); ++i) {
          const std::vector<double>& line = parts[static_cast<size_t>(i)];
          std::vector<double> sorted = line;
          std::sort(sorted.begin(), sorted.end(), [](double a, double b) { return a < b || (b != b && a == a); });
          const double middle = std::isnan(sorted.back()) ? sorted.back() : sorted[(sorted.size() - 1) / 2];
          const auto first = std::find_if(line.begin(), line.end(),
                                          [&](double v) { return v == middle || (v != v && middle != middle); });
          CHECK(y[1].number(i) == static_cast<double>(first - line.begin()));
          CHECK(close(y[0].number(i), *first, 0));
        }
      }
}

TEST_CASE("top-k and sorting are stable and put NaN at the large end") {
  const Array x = make(DType::float16, {5}, {2, not_a_number, 1, 2, 3});
  const auto top = run(topk_kernel(x.spec(), 0, 4, true), {x}, {spec(DType::float16, {4}), spec(DType::int32, {4})});
  CHECK(numbers(top[1]) == std::vector<double>{1, 4, 0, 3});
  const auto low = run(sort_kernel(x.spec(), 0, false), {x}, {spec(DType::float16, {5}), spec(DType::int32, {5})});
  CHECK(numbers(low[1]) == std::vector<double>{2, 0, 3, 4, 1});
  const Array y = make(DType::int32, {2, 2}, {1, 4, 3, 2});
  CHECK(numbers(run(sort_kernel(y.spec(), 0, true), {y}, {y.spec(), y.spec()})[0]) == std::vector<double>{3, 4, 1, 2});
  CHECK_THROWS_AS(topk_kernel(y.spec(), 0, 3, true), Error);
  const Array h = make(DType::float32, {6}, {-2, 0, 0.5, 1, 3, 9});
  CHECK(numbers(run(histogram_kernel(h.spec(), {0, 1, 5}, false), {h}, spec(DType::uint32, {4}))) ==
        std::vector<double>{1, 2, 2, 1});
  CHECK_THROWS_AS(histogram_kernel(h.spec(), {1, 1}, false), Error);
}

TEST_CASE("long lines sort as short ones do: NaN last, zeros of both signs equal, equal elements in their order") {
  for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int8, DType::int32, DType::int64,
                      DType::uint8, DType::uint32, DType::uint64, DType::boolean})
    for (int64_t n : {255, 256, 1000}) {
      CAPTURE(name(dtype));
      CAPTURE(n);
      std::vector<double> values;
      uint64_t state = 1;
      for (int64_t i = 0; i < n; ++i) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        const auto random = static_cast<double>(static_cast<int64_t>(state >> 40) % 4096 - 2048);
        if (is_floating(dtype)) {
          const double special[] = {not_a_number, inf, -inf, -0.0, 0.0};
          values.push_back(i % 11 < 5 ? special[i % 11] : random / 64);
        } else {
          values.push_back(dtype == DType::boolean                          ? std::fmod(std::fabs(random), 2.0)
                           : dtype == DType::int8                           ? std::fmod(random, 128.0)
                           : dtype == DType::int32 || dtype == DType::int64 ? random * 1e5
                                                                            : std::fmod(std::fabs(random), 256.0));
        }
      }
      const Array x = make(dtype, {n}, values);
      for (bool descending : {false, true}) {
        std::vector<double> places(static_cast<size_t>(n));
        std::iota(places.begin(), places.end(), 0.0);
        std::stable_sort(places.begin(), places.end(), [&](double i, double j) {
          const double p = x.number(static_cast<int64_t>(descending ? j : i));
          const double q = x.number(static_cast<int64_t>(descending ? i : j));
          return p < q || (std::isnan(q) && !std::isnan(p));
        });
        const auto sorted = run(sort_kernel(x.spec(), 0, descending), {x}, {x.spec(), spec(DType::int32, {n})});
        CHECK(numbers(sorted[1]) == places);
        places.resize(40);
        const auto top =
            run(topk_kernel(x.spec(), 0, 40, descending), {x}, {spec(dtype, {40}), spec(DType::int32, {40})});
        CHECK(numbers(top[1]) == places);
        for (int64_t i = 0; i < 40; ++i) {
          const double got = top[0].number(i), wanted = x.number(static_cast<int64_t>(places[static_cast<size_t>(i)]));
          CHECK((got == wanted || (std::isnan(got) && std::isnan(wanted))));
        }
      }
    }
}

TEST_CASE("lines side by side have the best elements that each has by itself, for any k") {
  constexpr int64_t n = 300, lines = 37;
  for (DType dtype : {DType::float16, DType::float32, DType::float64, DType::int8, DType::uint32})
    for (int64_t k : {1, 32, 33, 150, 299, 300}) {
      CAPTURE(name(dtype));
      CAPTURE(k);
      std::vector<double> values;
      for (int64_t i = 0; i < n * lines; ++i) values.push_back(static_cast<double>(i * i * 7919 % 10007 % 101));
      const Array x = make(dtype, {n, lines}, values);
      const auto top =
          run(topk_kernel(x.spec(), 0, k, true), {x}, {spec(dtype, {k, lines}), spec(DType::int32, {k, lines})});
      for (int64_t l = 0; l < lines; ++l) {
        std::vector<double> places(static_cast<size_t>(n));
        std::iota(places.begin(), places.end(), 0.0);
        const auto at = [&](double place) { return x.number(static_cast<int64_t>(place) * lines + l); };
        std::stable_sort(places.begin(), places.end(), [&](double i, double j) { return at(i) > at(j); });
        for (int64_t j = 0; j < k; ++j) {
          CHECK(top[1].number(j * lines + l) == places[static_cast<size_t>(j)]);
          CHECK(top[0].number(j * lines + l) == at(places[static_cast<size_t>(j)]));
        }
      }
    }
}
