// The host's generator: what seeds fix, distributions, arrays against single draws.
#include "runtime/kernels/random/draws.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/budget.hpp"

using namespace pxl;

TEST_CASE("a seed fixes every draw") {
  Random a(42), b(42), c(43);
  Array x = a.normal(DType::float32, {100}, 0, 1);
  CHECK(identical(x, b.normal(DType::float32, {100}, 0, 1)));
  CHECK_FALSE(identical(x, c.normal(DType::float32, {100}, 0, 1)));
  a.normal();
  a.reseed(42);
  CHECK(identical(x, a.normal(DType::float32, {100}, 0, 1)));
}

TEST_CASE("uniform numbers") {
  Random r(1);
  Array x = r.uniform(DType::float64, {20000}, -2, 3);
  double sum = 0, low = 9, high = -9;
  for (int64_t i = 0; i < x.size(); ++i)
    sum += x.number(i), low = std::min(low, x.number(i)), high = std::max(high, x.number(i));
  CHECK(low >= -2);
  CHECK(high < 3);
  CHECK(low < -1.99);
  CHECK(high > 2.99);
  CHECK(sum / 20000 == doctest::Approx(0.5).epsilon(0.1));
}

TEST_CASE("normal numbers") {
  Random r(2);
  Array x = r.normal(DType::float32, {40000}, 5, 2);
  double sum = 0, squares = 0, within = 0;
  for (int64_t i = 0; i < x.size(); ++i) {
    double z = (x.number(i) - 5) / 2;
    sum += z, squares += z * z, within += std::fabs(z) < 1;
  }
  CHECK(std::fabs(sum / 40000) < 0.02);
  CHECK(squares / 40000 == doctest::Approx(1).epsilon(0.03));
  CHECK(within / 40000 == doctest::Approx(0.6827).epsilon(0.02));
  CHECK_THROWS_AS(r.normal(DType::float32, {1}, 0, -1), Error);
  CHECK_THROWS_AS(r.normal(DType::float32, {1}, 0, std::nan("")), Error);
}

TEST_CASE("large arrays are drawn when they are needed, with the values and the state that drawing them at once has") {
  for (const int64_t n : {65536, 65537, 65540, 70003})
    for (const int before : {0, 1, 2, 3, 5}) {
      CAPTURE(n);
      CAPTURE(before);
      Random lazy(9), each(9);
      for (int i = 0; i < before; ++i) CHECK(lazy.bits() == each.bits());
      const Array u = lazy.uniform(DType::float32, {n}, -1, 3);
      bool same = true;
      std::vector<float> expected;
      for (int64_t i = 0; i < n; ++i) expected.push_back(static_cast<float>(-1 + 4 * each.uniform()));
      CHECK(lazy.bits() == each.bits());
      const Array z = lazy.normal(DType::float32, {n}, 1, 2);
      std::vector<float> normal;
      for (int64_t i = 0; i < n; ++i) normal.push_back(static_cast<float>(1 + 2 * each.normal()));
      CHECK(lazy.normal() == each.normal());
      CHECK(lazy.bits() == each.bits());
      // The second array is read first, after the generator has gone on.
      for (int64_t i = 0; i < n; ++i) same = same && z.data<float>()[i] == normal[static_cast<size_t>(i)];
      for (int64_t i = 0; i < n; ++i) same = same && u.data<float>()[i] == expected[static_cast<size_t>(i)];
      CHECK(same);
    }
  // The draws begin with an element left over from before, or at the start of a block.
  Random lazy(4), each(4);
  CHECK(lazy.normal() == each.normal());
  const Array z = lazy.normal(DType::float16, {256, 256}, 0, 1);
  for (int64_t i = 0; i < z.size(); ++i) each.normal();
  CHECK(lazy.normal() == each.normal());
  Random again(4);
  again.normal();
  Array one(DType::float64, {1});
  for (int64_t i = 0; i < 3; ++i) {
    one.mutable_data<double>()[0] = again.normal();
    CHECK(z.number(i) == one.cast(DType::float16).number(0));
  }
}

TEST_CASE("truncated normals are the normal ones within the bound, and leave the generator where these do") {
  for (const int64_t n : {1, 2, 3, 255, 1000, 4097})
    for (const int before : {0, 1, 3}) {
      CAPTURE(n);
      CAPTURE(before);
      Random many(8), each(8);
      for (int i = 0; i < before; ++i) CHECK(many.normal() == each.normal());
      const Array x = many.truncated_normal(DType::float64, {n}, 1, 2, 1.5);
      for (int64_t i = 0; i < n;) {
        const double z = each.normal();
        if (std::fabs(z) <= 1.5) CHECK(x.data<double>()[i++] == 1 + 2 * z);
      }
      CHECK(many.normal() == each.normal());
      CHECK(many.bits() == each.bits());
    }
}

TEST_CASE("draws of large arrays in a look have no elements") {
  Budget budget;
  const BudgetScope scope(&budget);
  Random random(1);
  CHECK_FALSE(random.normal(DType::float16, {20000, 20000}, 0, 1).has_elements());
  CHECK_FALSE(random.uniform(DType::float32, {20000, 20000}, 0, 1).has_elements());
  CHECK_FALSE(random.permutation(1 << 28).has_elements());
}

TEST_CASE("truncated normals stay within the bound, narrow or wide") {
  Random r(3);
  for (double bound : {2.0, 0.6, 0.4, 1e-6}) {
    Array x = r.truncated_normal(DType::float64, {3000}, 1, 0.5, bound);
    double most = 0;
    for (int64_t i = 0; i < x.size(); ++i) most = std::max(most, std::fabs(x.number(i) - 1));
    CHECK(most <= 0.5 * bound * (1 + 1e-9));
    CHECK(most > 0.45 * bound);
  }
  CHECK_THROWS_AS(r.truncated_normal(DType::float32, {1}, 0, 1, 0), Error);
}

TEST_CASE("below is unbiased and refuses an empty range") {
  Random r(4);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts[static_cast<size_t>(r.below(7))];
  for (int count : counts) CHECK(std::abs(count - 10000) < 500);
  CHECK(r.below(1) == 0);
  CHECK(r.below(int64_t{1} << 62) >= 0);
  CHECK_THROWS_AS(r.below(0), Error);
}

TEST_CASE("a permutation has every index once") {
  Random r(5);
  const Array drawn = r.permutation(1000);
  std::vector<int64_t> order(drawn.data<int64_t>(), drawn.data<int64_t>() + drawn.size());
  CHECK_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) CHECK(order[static_cast<size_t>(i)] == i);
  CHECK(r.permutation(0).size() == 0);
  CHECK(r.permutation(9, DType::int32).dtype() == DType::int32);
  CHECK_THROWS_AS(r.permutation(-1), Error);
  CHECK_THROWS_AS(r.permutation(int64_t{1} << 60), Error);
}

TEST_CASE("a saved state gives the draws that would have followed") {
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    Random other(1);
    other.resume(random.state());
    CHECK(other == random);
    switch (i % 4) {
      case 0: CHECK(other.bits() == random.bits()); break;
      case 1: CHECK(other.normal() == random.normal()); break;
      case 2: CHECK(other.below(i + 1) == random.below(i + 1)); break;
      default: CHECK(identical(other.uniform(DType::float32, {3}, 0, 1), random.uniform(DType::float32, {3}, 0, 1)));
    }
    CHECK(other == random);
  }
  Random unchanged(3);
  CHECK_THROWS_WITH(unchanged.resume({0, 0, 2, 0, 0}), "these numbers are not a state of the random generator");
  CHECK_THROWS(unchanged.resume({0, 1, 5, 0, 0}));
  CHECK_THROWS(unchanged.resume({0, 1, 4, 2, 0}));
  CHECK(unchanged == Random(3));
}
