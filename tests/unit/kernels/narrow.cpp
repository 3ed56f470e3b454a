// Products with weights that are widened in registers: the bits of those with widened copies, or, where groups' sums
// are multiplied by scales, nearly so; and the same bits however the product is divided.
#include "runtime/kernels/gemm/narrow.hpp"

#include <cmath>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/elementwise/quantise.hpp"
#include "runtime/kernels/gemm/product.hpp"
#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct NarrowCase {
  int64_t m, n, k;
};
const std::vector<NarrowCase> narrow_cases = {
    {1, 65, 16},  {1, 130, 300}, {2, 64, 37},   {3, 200, 2100},  {4, 129, 256}, {4, 2100, 270}, {1, 1100, 50},
    {5, 100, 64}, {8, 130, 300}, {13, 77, 150}, {16, 200, 2100}, {3, 256, 100}, {4, 192, 41}};

/// Every code in turn, in rows of which none is like another.
Array codes(DType dtype, int64_t k, int64_t n) {
  Array w(dtype, {k, n});
  const auto width = static_cast<int64_t>(size_of(dtype));
  uint32_t state = 12345;
  for (int64_t i = 0; i < k * n * width; ++i) {
    state = state * 1664525u + 1013904223u;
    w.mutable_raw()[i] = static_cast<std::byte>(state >> 24);
  }
  return w;
}

/// Whether y and `expected`, which add the products of x and w in two orders, are as near as they must be.
bool near(const NarrowCase& c, const Array& x, const Array& w, const Array& y, const Array& expected) {
  const float *left = x.data<float>(), *right = w.data<float>();
  for (int64_t i = 0; i < c.m; ++i)
    for (int64_t j = 0; j < c.n; ++j) {
      double magnitude = 0;
      for (int64_t k = 0; k < c.k; ++k)
        magnitude += std::fabs(static_cast<double>(left[i * c.k + k]) * static_cast<double>(right[k * c.n + j]));
      const auto at = static_cast<size_t>(i * c.n + j);
      const double difference =
          std::fabs(static_cast<double>(y.data<float>()[at]) - static_cast<double>(expected.data<float>()[at]));
      if (!(difference <= magnitude * 0x1p-20)) return false;
    }
  return true;
}

/// The product with `compute` only, and with the weights where they lie: the same bits, whole and in pieces. Sums with
/// `widened`, the weights in float32, may differ by rounding from sums with `compute`.
void check_same(const NarrowCase& c, const Array& x, const std::vector<Array>& right, RightOperand operand,
                const NarrowSource& source, const Array* widened = nullptr) {
  CAPTURE(c.m);
  CAPTURE(c.n);
  CAPTURE(c.k);
  const GemmShape plan = gemm_shape({c.m, c.k}, false, {c.k, c.n}, false);
  std::vector<Array> in{x};
  in.insert(in.end(), right.begin(), right.end());
  ProductOptions options;
  options.right = std::move(operand);
  const TensorSpec out = spec(DType::float32, {c.m, c.n});
  Array expected = run(product_kernel(plan, options), in, out);
  options.right.narrow = source;
  const Kernel narrow = product_kernel(plan, options);
  const Array whole = run(narrow, in, out);
  if (widened && c.n > 64) {
    CHECK(near(c, x, *widened, whole, expected));
    expected = whole;
  }
  CHECK(identical(whole, expected));
  std::vector<const std::byte*> inputs;
  for (const Array& a : in) inputs.push_back(a.raw());
  for (int pieces : {2, 3, 7}) {
    Array divided(DType::float32, out.shape);
    std::byte* outputs[] = {divided.mutable_raw()};
    run_in_pieces(narrow, {inputs.data(), outputs}, pieces);
    CHECK(identical(divided, expected));
  }
}

}  // namespace

TEST_CASE("formats") {
  for (const NarrowCase& c : narrow_cases) {
    const Array x = ramp(DType::float32, {c.m, c.k}, 3);
    const auto check = [&](DType dtype, const Array& w, auto widen) {
      CAPTURE(name(dtype));
      RightOperand operand;
      operand.compute = [widen](const Buffers& b, float* to, int64_t begin, int64_t end, std::byte*) {
        widen(b, to, begin, end - begin);
      };
      check_same(c, x, {w}, operand, {.format = *narrow_format(dtype), .slot = 1});
    };
    const auto bytes = [&](DType dtype, auto f) {
      check(dtype, codes(dtype, c.k, c.n),
            [f](const Buffers& b, float* to, int64_t at, int64_t n) { f(b.input<uint8_t>(1) + at, to, n); });
    };
    check(DType::float32, ramp(DType::float32, {c.k, c.n}, 5),
          [](const Buffers& b, float* to, int64_t at, int64_t n) { std::copy_n(b.input<float>(1) + at, n, to); });
    check(DType::float16, ramp(DType::float16, {c.k, c.n}, 5), [](const Buffers& b, float* to, int64_t at, int64_t n) {
      bulk().float16.widen(b.input<uint16_t>(1) + at, to, n);
    });
    check(DType::bfloat16, ramp(DType::bfloat16, {c.k, c.n}, 5),
          [](const Buffers& b, float* to, int64_t at, int64_t n) {
            bulk().bfloat16.widen(b.input<uint16_t>(1) + at, to, n);
          });
    bytes(DType::uint8, bulk().uint8_to_float);
    check(DType::int8, codes(DType::int8, c.k, c.n), [](const Buffers& b, float* to, int64_t at, int64_t n) {
      bulk().int8_to_float(b.input<int8_t>(1) + at, to, n);
    });
    // The code of NaN would make every sum NaN. So only some columns have one, in rows of several blocks.
    for (DType dtype : {DType::float8_143, DType::float8_152}) {
      Array w = codes(dtype, c.k, c.n);
      std::replace(w.mutable_raw(), w.mutable_raw() + w.bytes(), std::byte{0x80}, std::byte{0x81});
      for (int64_t column : {int64_t{3}, int64_t{40}, int64_t{64}, c.n / 2, c.n - 1})
        if (column < c.n) w.mutable_raw()[column * 7 % c.k * c.n + column] = std::byte{0x80};
      check(dtype, w, [dtype](const Buffers& b, float* to, int64_t at, int64_t n) {
        (dtype == DType::float8_143 ? bulk().float8_143_to_float : bulk().float8_152_to_float)(b.input<uint8_t>(1) + at,
                                                                                               to, n);
      });
    }
  }
}

TEST_CASE("scales by group, column and row, and one scale") {
  for (const NarrowCase& given : narrow_cases)
    for (bool packed : {false, true}) {
      NarrowCase c = given;
      if (packed) c.k += c.k % 2;
      const Array x = ramp(DType::float32, {c.m, c.k}, 3);
      const Array w = packed ? codes(DType::uint8, c.k / 2, c.n) : codes(DType::int8, c.k, c.n);
      for (int64_t group : {int64_t{2}, int64_t{6}, int64_t{32}, int64_t{64}, int64_t{128}, int64_t{5000}}) {
        CAPTURE(group);
        const Array scales = ramp(DType::float32, {(c.k + group - 1) / group, c.n}, 7);
        const Kernel wide = dequantise_kernel(w.spec(), scales.spec(), packed, group);
        REQUIRE(wide.narrow_source());
        NarrowSource source = *wide.narrow_source();
        source.slot += 1;
        source.scales += 1;
        RightOperand operand;
        operand.compute = [part = wide.phases()[0].part](const Buffers& b, float* to, int64_t begin, int64_t end,
                                                         std::byte*) {
          std::byte* out = reinterpret_cast<std::byte*>(to - begin);
          part(b.with(b.in + 1, &out), begin, end);
        };
        const Array widened = run(wide, {w, scales}, spec(DType::float32, {c.k, c.n}));
        check_same(c, x, {w, scales}, operand, source, &widened);
      }
      if (packed) continue;
      const Array whole =
          run(cast_kernel(DType::int8, DType::float32, w.size()), {w}, spec(DType::float32, {c.k, c.n}));
      for (const Shape& shape : {Shape{}, Shape{1, c.n}, Shape{c.k, 1}}) {
        const Array scales = ramp(DType::float32, shape, 7);
        const Kernel scaled = multiply_kernel(DType::float32, {c.k, c.n}, shape, {c.k, c.n});
        REQUIRE(scaled.narrow_source());
        NarrowSource source = *scaled.narrow_source();
        CHECK(source.fits(c.n));
        source.format = NarrowFormat::int8;
        source.slot = 1;
        source.scales = 2;
        RightOperand operand;
        operand.compute = [part = scaled.phases()[0].part, &whole](const Buffers& b, float* to, int64_t begin,
                                                                   int64_t end, std::byte*) {
          const std::byte* in[] = {whole.raw(), b.in[2]};
          std::byte* out = reinterpret_cast<std::byte*>(to - begin);
          part(b.with(in, &out), begin, end);
        };
        const Array widened = run(scaled, {whole, scales}, spec(DType::float32, {c.k, c.n}));
        check_same(c, x, {w, scales}, operand, source, &widened);
      }
    }
}
