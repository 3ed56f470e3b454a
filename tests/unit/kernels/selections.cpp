// Selections, constants, clipping and conversions.
#include <bit>
#include <cmath>
#include <cstring>
#include <random>

#include "runtime/base/threads/keep_subnormals.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_table.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("where, clip, fold, increment, fill, casts") {
  const Array y =
      run(where_kernel(DType::int16, {2, 1}, {3}, {}, {2, 3}),
          {make(DType::boolean, {2, 1}, {1, 0}), make(DType::int16, {3}, {1, 2, 3}), make(DType::int16, {}, {9})},
          spec(DType::int16, {2, 3}));
  CHECK(numbers(y) == std::vector<double>{1, 2, 3, 9, 9, 9});
  const Array x = make(DType::float16, {4}, {-5, 0.5, 5, not_a_number});
  const Array clipped = run(clip_kernel({DType::float16, -1}, {DType::float16, 1}, 4), {x}, spec(DType::float16, {4}));
  CHECK(clipped.number(0) == -1);
  CHECK(clipped.number(1) == 0.5);
  CHECK(clipped.number(2) == 1);
  CHECK(std::isnan(clipped.number(3)));
  CHECK(numbers(run(clip_kernel({DType::int32, -inf}, {DType::int32, 3}, 2), {make(DType::int32, {2}, {-9, 9})},
                    spec(DType::int32, {2}))) == std::vector<double>{-9, 3});
  CHECK(numbers(run(clip_grad_kernel({DType::float32, -1}, {DType::float32, 1}, 3),
                    {make(DType::float32, {3}, {7, 7, 7}), make(DType::float32, {3}, {-1, 0, 2})},
                    spec(DType::float32, {3}))) == std::vector<double>{7, 7, 0});
  CHECK(numbers(run(
            nary_kernel(Binary::maximum, DType::float32, {{2}, {}, {2, 1}}, {2, 2}),
            {make(DType::float32, {2}, {1, 5}), make(DType::float32, {}, {2}), make(DType::float32, {2, 1}, {3, 0})},
            spec(DType::float32, {2, 2}))) == std::vector<double>{3, 5, 2, 5});
  CHECK(numbers(run(increment_mod_kernel({DType::uint32, 2}, {DType::uint32, 5}, 3),
                    {make(DType::uint32, {3}, {0, 2, 3})}, spec(DType::uint32, {3}))) == std::vector<double>{2, 4, 0});
  CHECK(numbers(run(fill_kernel({DType::float16, 1.5}, 5), {}, spec(DType::float16, {5}))) ==
        std::vector<double>(5, 1.5));
  const Array f = make(DType::float32, {6}, {-1.7, 300, not_a_number, inf, 0, 2.5});
  CHECK(numbers(run(cast_kernel(DType::float32, DType::int8, 6), {f}, spec(DType::int8, {6}))) ==
        std::vector<double>{-1, 127, 0, 127, 0, 2});
  CHECK(numbers(run(cast_kernel(DType::float32, DType::boolean, 6), {f}, spec(DType::boolean, {6}))) ==
        std::vector<double>{1, 1, 1, 1, 0, 1});
}

TEST_CASE("selections and constants of every width, in blocks and tails, with operands of one element") {
  for (DType dtype :
       {DType::boolean, DType::int8, DType::float16, DType::int32, DType::float32, DType::float64, DType::int64})
    for (int64_t n : {1, 7, 64, 259}) {
      CAPTURE(name(dtype));
      Array c(DType::boolean, {n});
      for (int64_t i = 0; i < n; ++i) c.mutable_data<bool>()[i] = i % 3 == 0;
      const Array rows[] = {ramp(dtype, {n}, 1), ramp(dtype, {n}, 2)},
                  ones[] = {ramp(dtype, {}, 1), ramp(dtype, {}, 2)};
      for (bool row_a : {false, true})
        for (bool row_b : {false, true}) {
          const Array &a = row_a ? rows[0] : ones[0], &b = row_b ? rows[1] : ones[1];
          const Array y = run(where_kernel(dtype, {n}, a.shape(), b.shape(), {n}), {c, a, b}, spec(dtype, {n}));
          for (int64_t i = 0; i < n; ++i)
            CHECK(y.number(i) == (i % 3 == 0 ? a.number(row_a ? i : 0) : b.number(row_b ? i : 0)));
        }
      const double value = dtype == DType::boolean ? 1 : 3;
      CHECK(numbers(run(fill_kernel({dtype, value}, n), {}, spec(dtype, {n}))) ==
            std::vector<double>(static_cast<size_t>(n), value));
      const Array wide = run(cast_kernel(DType::boolean, dtype, n), {c}, spec(dtype, {n}));
      for (int64_t i = 0; i < n; ++i) CHECK(wide.number(i) == (i % 3 == 0 ? 1 : 0));
    }
}

TEST_CASE("floats become integers of every width as arrays do: towards 0, saturating, NaN as 0") {
  std::vector<double> values{0.0, -0.0, 0.9, -0.9, 1.5, -1.5, inf, -inf, not_a_number, 1e300, -1e300};
  for (const double limit : {127.0, 255.0, 32767.0, 65535.0, 2147483647.0, 4294967295.0, 9223372036854775807.0})
    for (const double sign : {1.0, -1.0})
      for (const double step : {-1.0, -0.5, 0.0, 0.5, 1.0, 2.0}) values.push_back(sign * (limit + step));
  for (int i = 0; i < 600; ++i) values.push_back(i * 1.75 - 500);
  const auto n = static_cast<int64_t>(values.size());
  for (const DType from : floats) {
    const Array x = make(DType::float64, {n}, values).cast(from);
    for (const DType to : {DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32, DType::uint32,
                           DType::int64, DType::uint64}) {
      CAPTURE(name(from));
      CAPTURE(name(to));
      CHECK(identical(run(cast_kernel(from, to, n), {x}, spec(to, {n})), x.cast(to)));
    }
  }
}

TEST_CASE("float16 conversion is exact for every value and rounds to even") {
  Array h(DType::float16, {65536});
  for (int i = 0; i < 65536; ++i) h.mutable_data<half>()[i].bits = static_cast<uint16_t>(i);
  const Array f = run(cast_kernel(DType::float16, DType::float32, 65536), {h}, spec(DType::float32, {65536}));
  const Array back = run(cast_kernel(DType::float32, DType::float16, 65536), {f}, spec(DType::float16, {65536}));
  for (int i = 0; i < 65536; ++i) {
    const float v = f.data<float>()[i];
    const bool same = std::isnan(v) ? (i & 0x7c00) == 0x7c00 && (i & 0x3ff) != 0 : back.data<half>()[i].bits == i;
    if (!same || !close(static_cast<double>(v), static_cast<double>(static_cast<float>(h.data<half>()[i])), 0))
      CHECK(i == -1);
  }
  const Array r = run(cast_kernel(DType::float32, DType::float16, 5),
                      {make(DType::float32, {5}, {2049, 2051, 65519, 65520, 2e-8})}, spec(DType::float16, {5}));
  CHECK(numbers(r) == std::vector<double>{2048, 2052, 65504, inf, 0});
}

TEST_CASE("casts of floats round once and keep subnormal numbers, as arrays do, also in runs") {
  const FlushSubnormals as_in_runs;
  const int64_t n = 1003;
  int tries = 0;
  for (const DType from : {DType::float64, DType::float32, DType::float16})
    for (const DType to : {DType::float64, DType::float32, DType::float16, DType::boolean})
      for (uint64_t seed = 0; seed < 40; ++seed) {
        // Any pattern, or numbers around those that the narrower dtypes hold, half of them between two.
        Array x(DType::float64, {n});
        std::mt19937_64 rng(seed);
        for (int64_t i = 0; i < n; ++i) {
          const auto step = static_cast<double>(rng() % 4096) + (rng() % 3 == 0 ? 0.5 : 0);
          const double near = std::ldexp(step, static_cast<int>(rng() % 3 == 0 ? rng() % 20 - 34 : rng() % 300 - 160));
          const double any = std::bit_cast<double>(rng());
          const double chosen = seed % 2 == 0 || any != any ? near * (1 + (i % 3 - 1) * 0x1p-52) : any;
          x.mutable_data<double>()[i] = i % 2 == 0 ? chosen : -chosen;
        }
        Array given, expected;
        {
          const KeepSubnormals as_data;
          given = x.cast(from), expected = given.cast(to);
        }
        tries += static_cast<int>(n);
        const Array found = run(cast_kernel(from, to, n), {given}, spec(to, {n}));
        CHECK_MESSAGE(identical(found, expected), name(from), " to ", name(to), ", seed ", seed);
      }
  MESSAGE(tries, " numbers");
}

TEST_CASE_TEMPLATE("float64 is right in every narrow number, what is next to it, and every tie", T, half, bfloat16) {
  // Expected by the order of numbers alone, without a conversion from float64.
  std::vector<double> given;
  std::vector<uint16_t> expected;
  const auto add = [&](double x, uint16_t nearest) {
    given.push_back(x), expected.push_back(nearest);
    given.push_back(-x), expected.push_back(nearest | 0x8000U);
  };
  const uint16_t infinite = T(std::numeric_limits<float>::infinity()).bits;
  const double beyond = std::ldexp(1.0, std::is_same_v<T, half> ? 16 : 128);
  for (uint16_t h = 0; h < infinite; ++h) {
    const double low = static_cast<double>(static_cast<float>(std::bit_cast<T>(h)));
    const uint16_t next = h + 1;
    const double high = next == infinite ? beyond : static_cast<double>(static_cast<float>(std::bit_cast<T>(next)));
    const double tie = (low + high) / 2;
    add(low, h), add(std::nextafter(low, high), h), add(std::nextafter(high, low), next);
    add(std::nextafter(tie, low), h), add(tie, h % 2 == 0 ? h : next), add(std::nextafter(tie, high), next);
    // Numbers that float32 would take for the tie.
    add(tie - (high - low) * 0x1p-30, h), add(tie + (high - low) * 0x1p-30, next);
  }
  add(beyond, infinite), add(1e39, infinite), add(inf, infinite), add(0x1p-1074, 0), add(0x1p-135, 0);
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    std::vector<uint16_t> found(given.size());
    const NarrowFunctions& functions = std::is_same_v<T, half> ? table->bulk.float16 : table->bulk.bfloat16;
    functions.round_double(given.data(), found.data(), static_cast<int64_t>(given.size()));
    int64_t wrong = 0;
    for (size_t i = 0; i < given.size(); ++i) wrong += found[i] != expected[i];
    CHECK(wrong == 0);
    // Numbers that are not: none becomes an infinity.
    for (uint64_t bits : {0x7ff8000000000000U, 0xfff8000000000000U, 0x7ff0000000000001U, 0x7fffffffffffffffU}) {
      const double x = std::bit_cast<double>(bits);
      uint16_t half_bits = 0;
      functions.round_double(&x, &half_bits, 1);
      CHECK((half_bits & 0x7fffU) == (std::is_same_v<T, half> ? 0x7e00U : 0x7fc0U));
    }
  }
  MESSAGE(given.size(), " numbers");
}
