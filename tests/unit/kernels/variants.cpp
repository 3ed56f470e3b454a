// All instruction-set variants of the block functions give the same bits, in every alignment of a tail.
#include <cstring>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/block/block_table.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("variants agree bit by bit") {
  const std::vector<const BlockTable*> others = usable_variants(blocks_variants());
  const BlockTable& base = *others.front();
  const DType dtypes[BlockTable::columns] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};
  constexpr int64_t n = 331;
  for (const BlockTable* other : others) {
    for (int d = 0; d < BlockTable::columns; ++d) {
      Array x = ramp(dtypes[d], {n}, 1), y = ramp(dtypes[d], {n}, 4);
      const double extremes[] = {inf, -inf, not_a_number, 0.0, -0.0, 60000, -60000, 6e-8, 88.5, -103.5, 2e5};
      for (int64_t i = 0; i < 11; ++i) write_number(dtypes[d], x.mutable_raw(), 17 * i + 3, extremes[i]);
      std::byte first[n * 8], second[n * 8];
      for (int op = 0; op < static_cast<int>(Unary::count); ++op) {
        CAPTURE(name(static_cast<Unary>(op)));
        const UnaryBlock f = base.unary[op][d], g = other->unary[op][d];
        REQUIRE((f == nullptr) == (g == nullptr));
        if (!f) continue;
        std::memset(first, 0, sizeof first), std::memset(second, 0, sizeof second);
        f(x.raw(), first, n), g(x.raw(), second, n);
        // The sign of a NaN is not a result.
        const DType r = result_dtype(static_cast<Unary>(op), dtypes[d]);
        for (int64_t i = 0; i < n; ++i) {
          const bool same = std::memcmp(first + i * static_cast<int64_t>(size_of(r)),
                                        second + i * static_cast<int64_t>(size_of(r)), size_of(r)) == 0;
          if (!same && !std::isnan(read_number(r, first, i)))
            CHECK(read_number(r, first, i) == read_number(r, second, i));
        }
      }
      for (int op = 0; op < static_cast<int>(Binary::count); ++op) {
        CAPTURE(name(static_cast<Binary>(op)));
        const BinaryBlock f = base.binary[op][d], g = other->binary[op][d];
        if (!f) continue;
        const DType r = result_dtype(static_cast<Binary>(op), dtypes[d]);
        const auto compare = [&] {
          for (int64_t i = 0; i < n; ++i) {
            if (!close(read_number(r, second, i), read_number(r, first, i), 0))
              CHECK(read_number(r, first, i) == read_number(r, second, i));
          }
        };
        f.vv(x.raw(), y.raw(), first, n), g.vv(x.raw(), y.raw(), second, n), compare();
        f.vs(x.raw(), y.raw(), first, n), g.vs(x.raw(), y.raw(), second, n), compare();
        f.sv(y.raw(), x.raw(), first, n), g.sv(y.raw(), x.raw(), second, n), compare();
      }
    }
    const Array x = ramp(DType::float32, {n}), z = ramp(DType::float64, {n});
    const float* p = x.data<float>();
    for (int64_t m : {int64_t{0}, int64_t{1}, int64_t{31}, int64_t{64}, n}) {
      CHECK(base.bulk.sum32(p, m) == other->bulk.sum32(p, m));
      CHECK(base.bulk.dot32(p, p, m) == other->bulk.dot32(p, p, m));
      CHECK(base.bulk.max32(p, m) == other->bulk.max32(p, m));
      if (m > 0) {
        float first[n], second[n];
        const int64_t rows = n / m;
        base.bulk.rows32.max_rows(p, rows, m, first, m), other->bulk.rows32.max_rows(p, rows, m, second, m);
        CHECK(std::equal(first, first + m, second));
        base.bulk.rows32.min_rows(p, rows, m, first, m), other->bulk.rows32.min_rows(p, rows, m, second, m);
        CHECK(std::equal(first, first + m, second));
      }
      CHECK(base.bulk.deviation64(z.data<double>(), 0.3, m) == other->bulk.deviation64(z.data<double>(), 0.3, m));
    }
  }
}

TEST_CASE("a build without kernels for the processor says so") {
  const std::string_view best[] = {instruction_sets().back()};
  CHECK(usable_of(best, set_number(best[0]) + 1).back() == best[0]);
  const std::string why = "this pxl has kernels for " + std::string(best[0]) + " alone, which this processor lacks";
  CHECK_THROWS_WITH_AS(usable_of(best, 0), why.c_str(), Error);
}
