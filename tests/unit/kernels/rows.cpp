// Rows of every length in every instruction-set variant: short ones have code of their own, long ones a tail.
#include <cstring>

#include "runtime/kernels/block/block_table.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Each row by itself: exp, sums and subtractions as longer rows have them.
std::vector<float> plain_softmax(const std::vector<float>& x, int64_t rows, int64_t n, bool logarithm) {
  const BlockTable& blocks = *usable_variants(blocks_variants()).front();
  const UnaryBlock exp = blocks.unary[static_cast<int>(Unary::exp)][0];
  std::vector<float> out(x.size()), powers(static_cast<size_t>(n));
  for (int64_t r = 0; r < rows; ++r) {
    const float* row = x.data() + r * n;
    const float top = *std::max_element(row, row + n);
    for (int64_t i = 0; i < n; ++i) powers[static_cast<size_t>(i)] = row[i] - top;
    exp(powers.data(), powers.data(), n);
    const double total = blocks.bulk.sum32(powers.data(), n);
    for (int64_t i = 0; i < n; ++i)
      out[static_cast<size_t>(r * n + i)] = logarithm ? (row[i] - top) - static_cast<float>(std::log(total))
                                                      : powers[static_cast<size_t>(i)] / static_cast<float>(total);
  }
  return out;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

TEST_CASE("rows of every length have their largest and smallest element") {
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    const BulkFunctions& f = table->bulk;
    CHECK(f.max32(nullptr, 0) == -inf);
    CHECK(f.min64(nullptr, 0) == inf);
    for (int64_t n = 1; n < 40; ++n) {
      const Array x = ramp(DType::float32, {n}, 3), y = ramp(DType::float64, {n}, 3);
      std::vector<float> a(x.data<float>(), x.data<float>() + n);
      std::vector<double> b(y.data<double>(), y.data<double>() + n);
      CHECK(f.max32(a.data(), n) == *std::max_element(a.begin(), a.end()));
      CHECK(f.min32(a.data(), n) == *std::min_element(a.begin(), a.end()));
      CHECK(f.max64(b.data(), n) == *std::max_element(b.begin(), b.end()));
      CHECK(f.min64(b.data(), n) == *std::min_element(b.begin(), b.end()));
      for (size_t i = 0; i < a.size(); ++i) {
        const float old = std::exchange(a[i], std::nanf(""));
        CHECK(std::isnan(f.max32(a.data(), n)));
        CHECK(std::isnan(f.min32(a.data(), n)));
        a[i] = old;
      }
    }
  }
}

TEST_CASE("softmax of many rows has the bits of each row by itself, whatever the length") {
  constexpr int64_t rows = 37;
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    for (int64_t n = 1; n < 40; ++n) {
      CAPTURE(n);
      const Array given = ramp(DType::float32, {rows * n}, 5);
      const std::vector<float> x(given.data<float>(), given.data<float>() + rows * n);
      for (bool logarithm : {false, true}) {
        const auto& f = logarithm ? table->bulk.rows32.log_softmax : table->bulk.rows32.softmax;
        const std::vector<float> expected = plain_softmax(x, rows, n, logarithm);
        std::vector<float> out(x.size() + 16, 7.0f);
        f(x.data(), out.data(), rows, n);
        CHECK(std::all_of(out.begin() + rows * n, out.end(), [](float v) { return v == 7.0f; }));
        out.resize(x.size());
        CHECK(same(out, expected));
        std::vector<float> in_place = x;
        f(in_place.data(), in_place.data(), rows, n);
        CHECK(same(in_place, expected));
      }
    }
  }
}

TEST_CASE("the total of a row is the same alone and among many rows, in every variant") {
  constexpr int64_t rows = 19;
  for (int64_t n = 0; n < 40; ++n) {
    CAPTURE(n);
    const int64_t stride = n + 3;
    const Array narrow = ramp(DType::float32, {rows * stride}, 3), wide = ramp(DType::float64, {rows * stride}, 3);
    const auto check = [&]<class T>(const T* x, auto functions_of) {
      std::vector<std::vector<double>> first;
      for (const BlockTable* table : usable_variants(blocks_variants())) {
        const RowFunctions<T>& f = functions_of(table->bulk);
        std::vector<std::vector<double>> all;
        for (const auto each :
             {f.each_sum, f.each_square_sum, f.each_absolute_sum, f.each_product, f.each_max, f.each_min}) {
          std::vector<double>& totals = all.emplace_back(rows + 1, 7.0);
          each(x, rows, stride, n, totals.data());
          CHECK(totals[rows] == 7.0);
          for (int64_t r = 0; r < rows; ++r) {
            double single = 0;
            each(x + r * stride, 1, stride, n, &single);
            CHECK(totals[static_cast<size_t>(r)] == single);
          }
        }
        if (first.empty()) first = all;
        CHECK(all == first);
        double sum = 0, largest = -inf;
        for (int64_t i = 0; i < n; ++i)
          sum += static_cast<double>(x[i]), largest = std::max(largest, static_cast<double>(x[i]));
        CHECK(all[0][0] == doctest::Approx(sum));
        CHECK(all[4][0] == largest);
      }
    };
    check(narrow.data<float>(), [](const BulkFunctions& f) -> const RowFunctions<float>& { return f.rows32; });
    check(wide.data<double>(), [](const BulkFunctions& f) -> const RowFunctions<double>& { return f.rows64; });
  }
}

TEST_CASE("products and sums of squares and magnitudes follow the order of rows in each column") {
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    for (int64_t rows : {1, 16, 40}) {
      for (int64_t n = 1; n < 70; n += 3) {
        const int64_t stride = n + 3;
        const Array given = ramp(DType::float32, {rows * stride}, 2);
        const float* x = given.data<float>();
        std::vector<double> acc(static_cast<size_t>(n));
        std::vector<float> squares, magnitudes, products, out(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
          double square = 0, magnitude = 0, product = 1;
          for (int64_t r = 0; r < rows; ++r) {
            const auto a = static_cast<double>(x[r * stride + i]);
            square += a * a, magnitude += std::abs(a), product *= a;
          }
          squares.push_back(static_cast<float>(square)), magnitudes.push_back(static_cast<float>(magnitude));
          products.push_back(static_cast<float>(product));
        }
        const RowFunctions<float>& f = table->bulk.rows32;
        f.sum_square_rows(x, rows, stride, 1, acc.data(), out.data(), n);
        CHECK(same(out, squares));
        f.sum_absolute_rows(x, rows, stride, 1, acc.data(), out.data(), n);
        CHECK(same(out, magnitudes));
        f.multiply_rows(x, rows, stride, 1, acc.data(), out.data(), n);
        CHECK(same(out, products));
      }
    }
  }
}

TEST_CASE("sums over rows add in the order of the rows, however many columns there are") {
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    for (int64_t rows : {1, 8, 16, 17, 40}) {
      for (int64_t n = 1; n < 70; ++n) {
        const int64_t stride = n + 3;
        const Array given = ramp(DType::float32, {rows * stride}, 2);
        const float* x = given.data<float>();
        std::vector<double> acc(static_cast<size_t>(n));
        for (double divisor : {1.0, 3.0}) {
          std::vector<float> out(static_cast<size_t>(n)), expected;
          for (int64_t i = 0; i < n; ++i) {
            double sum = 0;
            for (int64_t r = 0; r < rows; ++r) sum += static_cast<double>(x[r * stride + i]);
            expected.push_back(static_cast<float>(sum / divisor));
          }
          table->bulk.rows32.sum_rows(x, rows, stride, divisor, acc.data(), out.data(), n);
          CHECK(same(out, expected));
        }
      }
    }
  }
}
