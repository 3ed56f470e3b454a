// Random kernels: statistics, repeatability, masks.
#include "runtime/kernels/random/random.hpp"

#include "runtime/tensor/random.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {
const Array& seed() {
  static const Array s = make(DType::uint32, {2}, {7, 42});
  return s;
}
}  // namespace

TEST_CASE("uniform and normal values") {
  for (DType dtype : floats) {
    const TensorSpec out = spec(dtype, {20001});
    const Array u = run(random_uniform_kernel(out, -1, 3), {seed()}, out),
                n = run(random_normal_kernel(out, 1, 2), {seed()}, out);
    CHECK(identical(u, run(random_uniform_kernel(out, -1, 3), {seed()}, out)));
    double sum = 0, mean = 0, square = 0;
    bool inside = true;
    for (int64_t i = 0; i < u.size(); ++i) {
      inside &= u.number(i) >= -1 && u.number(i) < 3;
      sum += u.number(i), mean += n.number(i), square += n.number(i) * n.number(i);
    }
    CHECK(inside);
    CHECK(std::fabs(sum / 20001 - 1) < 0.03);
    CHECK(std::fabs(mean / 20001 - 1) < 0.05);
    CHECK(std::fabs(square / 20001 - mean / 20001 * mean / 20001 - 4) < 0.15);
    // A shorter tensor is a prefix.
    const TensorSpec part = spec(dtype, {1500});
    CHECK(identical(run(random_normal_kernel(part, 1, 2), {seed()}, part), n.rows(0, 1500)));
  }
  CHECK_THROWS_AS(random_uniform_kernel(spec(DType::int32, {2}), 0, 1), Error);
}

TEST_CASE("dropout") {
  const Array x = Array::full(DType::float32, {100, 100}, 3);
  const Array y = run(dropout_kernel(x.spec(), 0.25), {x, seed()}, x.spec());
  int64_t kept = 0;
  for (int64_t i = 0; i < y.size(); ++i) {
    CHECK((y.number(i) == 0 || y.number(i) == 4));
    kept += y.number(i) != 0;
  }
  CHECK(std::abs(static_cast<double>(kept) - 7500) < 200);
  CHECK(identical(y, run(dropout_kernel(x.spec(), 0.25), {x, seed()}, x.spec())));
  CHECK(identical(x, run(dropout_kernel(x.spec(), 0), {x, seed()}, x.spec())));
  CHECK(numbers(run(dropout_kernel(x.spec(), 1), {x, seed()}, x.spec())) == std::vector<double>(10000, 0.0));
  CHECK_THROWS_AS(dropout_kernel(x.spec(), 1.5), Error);
  const Array rows = run(shaped_dropout_kernel(x.spec(), {100, 1}, 0.5), {x, seed()}, x.spec());
  for (int64_t i = 0; i < rows.size(); ++i) CHECK(rows.number(i) == rows.number(i / 100 * 100));
}

TEST_CASE("dropout of a piece, wherever it begins, is that piece of the whole") {
  for (DType dtype : floats) {
    const TensorSpec x = spec(dtype, {7, 401});
    const Array a = ramp(dtype, x.shape), whole_seed = seed();
    const Kernel kernel = dropout_kernel(x, 0.4);
    const Array whole = run(kernel, {a, whole_seed}, x);
    REQUIRE(kernel.is_fusion_consumer());
    for (int64_t width : {1, 3, 64, 401, 1027}) {
      Array pieces = Array::full(dtype, x.shape, 9);
      const std::byte* in[] = {a.raw(), whole_seed.raw()};
      std::byte* out[] = {pieces.mutable_raw()};
      for (int64_t i = 0; i < x.size(); i += width)
        kernel.phases().back().part({in, out}, i, std::min(i + width, x.size()));
      CHECK(identical(whole, pieces));
    }
    // Which elements stay follows from the words of philox4x32 alone.
    for (int64_t i = 0; i < x.size(); i += 97) {
      const auto words = philox4x32({static_cast<uint32_t>(i / 4), 0, 3, 0}, {7, 42});
      const bool kept = words[static_cast<size_t>(i % 4)] >= static_cast<uint32_t>(0.4 * 0x1p32);
      if (a.number(i) != 0) CHECK((whole.number(i) != 0) == kept);
    }
  }
}

TEST_CASE("derived seeds differ from each other and from their parent") {
  const TensorSpec out = spec(DType::uint32, {2});
  const Array a = run(modify_seed_kernel(0), {seed()}, out), b = run(modify_seed_kernel(1), {seed()}, out);
  CHECK(!identical(a, b));
  CHECK(!identical(a, seed()));
  CHECK(identical(b, run(modify_seed_kernel(), {seed(), make(DType::uint32, {}, {1})}, out)));
}
