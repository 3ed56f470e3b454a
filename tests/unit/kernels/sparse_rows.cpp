// Sums of rows with equal indices, and rows written in place.
#include "runtime/kernels/indexing/sparse_rows.hpp"

#include <map>

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

using Numbers = std::vector<double>;

namespace {

struct Sums {
  Array indices, rows;
};

Sums sums_of(const Array& indices, const Array& rows, int64_t extent, bool ignore = false) {
  Sums out{Array(DType::int32, indices.shape()), Array(rows.dtype(), rows.shape())};
  const std::byte* in[] = {indices.raw(), rows.raw()};
  std::byte* to[] = {out.indices.mutable_raw(), out.rows.mutable_raw()};
  sum_duplicates_kernel(indices.spec(), rows.spec(), extent, ignore)(Buffers{in, to});
  return out;
}

}  // namespace

TEST_CASE("rows with equal indices are added in their order") {
  for (DType dtype : floats) {
    const Array rows = make(dtype, {5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
    const Sums s = sums_of(make(DType::int32, {5}, {3, 0, 3, -1, 0}), rows, 6);
    CHECK(numbers(s.indices) == Numbers{0, 3, 5, -1, -1});
    CHECK(numbers(s.rows) == Numbers{12, 14, 6, 8, 7, 8, 0, 0, 0, 0});
    const Sums t = sums_of(make(DType::int64, {5}, {3, 6, 3, -1, 0}), rows, 6, true);
    CHECK(numbers(t.indices) == Numbers{0, 3, -1, -1, -1});
    CHECK(numbers(t.rows) == Numbers{9, 10, 6, 8, 0, 0, 0, 0, 0, 0});
  }
  // Many, also where the digits of the indices take several bytes.
  constexpr int64_t n = 3000, extent = 100'000;
  Array indices(DType::uint32, {n});
  const Array rows = ramp(DType::float32, {n, 3}, 3);
  std::map<int64_t, std::array<float, 3>> wanted;
  for (int64_t i = 0; i < n; ++i) {
    const int64_t at = i * i * 7919 % 1013 * 98;
    indices.mutable_data<uint32_t>()[i] = static_cast<uint32_t>(at);
    for (size_t j = 0; j < 3; ++j) wanted[at][j] += static_cast<float>(rows.number(i * 3 + static_cast<int64_t>(j)));
  }
  const Sums s = sums_of(indices, rows, extent);
  int64_t next = 0;
  for (const auto& [at, sum] : wanted) {
    CHECK(s.indices.data<int32_t>()[next] == at);
    for (int64_t j = 0; j < 3; ++j) CHECK(s.rows.data<float>()[next * 3 + j] == sum[static_cast<size_t>(j)]);
    ++next;
  }
  for (; next < n; ++next) CHECK((s.indices.data<int32_t>()[next] == -1 && s.rows.data<float>()[next * 3] == 0));
}

TEST_CASE("sums of no rows, and of rows without elements") {
  CHECK(sums_of(Array(DType::int32, {0}), Array(DType::float32, {0, 4}), 3).rows.size() == 0);
  const Sums s = sums_of(make(DType::int32, {2}, {1, 1}), Array(DType::float32, {2, 0}), 3);
  CHECK(numbers(s.indices) == Numbers{1, -1});
}

TEST_CASE("rows are written at their indices, the last of duplicates") {
  const Array t = make(DType::float32, {4, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Array values = make(DType::float32, {3, 2}, {10, 11, 12, 13, 14, 15});
  const auto copied = [&](Numbers at, bool ignore) {
    const Array i = make(DType::int32, {3}, at);
    return numbers(run(index_copy_kernel(t.spec(), i.spec(), ignore), {t, i, values}, t.spec()));
  };
  CHECK(copied({0, 1, 3}, false) == Numbers{10, 11, 12, 13, 4, 5, 14, 15});
  CHECK(copied({2, 0, 2}, false) == Numbers{12, 13, 2, 3, 14, 15, 6, 7});
  CHECK(copied({-1, 1, 1}, false) == Numbers{0, 1, 14, 15, 4, 5, 10, 11});
  CHECK(copied({1, -1, 4}, true) == Numbers{0, 1, 10, 11, 4, 5, 6, 7});
}

TEST_CASE("an index out of range is an error that names it, and nothing is written") {
  const Array rows = make(DType::float32, {2, 1}, {1, 2});
  for (double bad : {-5.0, 4.0}) {
    const Array i = make(DType::int32, {2}, {1, bad});
    CHECK_THROWS_WITH_AS(sums_of(i, rows, 4), doctest::Contains("out of range for axis 0 of extent 4"), Error);
    Array t = make(DType::float32, {4, 1}, {5, 6, 7, 8});
    const std::byte* in[] = {t.raw(), i.raw(), rows.raw()};
    std::byte* out[] = {t.mutable_raw()};
    in[0] = out[0];
    CHECK_THROWS_AS(index_copy_kernel(t.spec(), i.spec(), false)(Buffers{in, out}), Error);
    CHECK(numbers(t) == Numbers{5, 6, 7, 8});
  }
}
