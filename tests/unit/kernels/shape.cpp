// Movement kernels.
#include "runtime/kernels/movement/shape.hpp"

#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {
Array count(DType dtype, Shape shape) {
  Array a(dtype, std::move(shape));
  for (int64_t i = 0; i < a.size(); ++i) write_number(dtype, a.mutable_raw(), i, static_cast<double>(i % 1000));
  return a;
}
}  // namespace

TEST_CASE("transposition by any permutation") {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> cases{{{70, 45}, {1, 0}},
                                                                  {{3, 4, 5}, {2, 0, 1}},
                                                                  {{3, 40, 50}, {0, 2, 1}},
                                                                  {{2, 3, 4, 5}, {0, 2, 1, 3}},
                                                                  {{2, 3, 4, 5}, {3, 2, 1, 0}},
                                                                  {{30, 41, 2}, {1, 0, 2}},
                                                                  {{3, 20, 33, 4}, {0, 2, 1, 3}},
                                                                  {{5, 6, 7, 2}, {2, 1, 0, 3}},
                                                                  {{33, 1, 2}, {1, 0, 2}},
                                                                  {{1, 5}, {1, 0}},
                                                                  {{0, 5}, {1, 0}},
                                                                  {{5, 0, 2}, {2, 0, 1}},
                                                                  {{}, {}}};
  for (const auto& [shape, p] : cases) {
    for (DType dtype : {DType::int8, DType::float16, DType::float32, DType::float64}) {
      const Array x = ramp(dtype, shape);
      Shape out;
      for (int64_t a : p) out.push_back(shape[static_cast<size_t>(a)]);
      const Array y = run(transpose_kernel(x.spec(), p), {x}, spec(dtype, out));
      const Shape to = strides_of(out), from = strides_of(shape);
      for (int64_t i = 0; i < y.size(); ++i) {
        int64_t at = 0;
        for (size_t d = 0; d < out.size(); ++d) at += i / to[d] % out[d] * from[static_cast<size_t>(p[d])];
        CHECK(y.number(i) == x.number(at));
      }
    }
  }
  CHECK_THROWS_AS(transpose_kernel(spec(DType::float32, {2, 3}), {0, 0}), Error);
  CHECK_THROWS_AS(transpose_kernel(spec(DType::float32, {2, 3}), {0}), Error);
}

TEST_CASE("slices outside the tensor, parts of another size and operands that do not fit are refused") {
  const TensorSpec x = spec(DType::float32, {3, 4});
  CHECK_THROWS_AS(slice_kernel(x, {0, 2}, {1, 1}, {3, 3}), Error);
  CHECK_THROWS_AS(slice_kernel(x, {0, 2}, {1, -1}, {3, 4}), Error);
  CHECK_THROWS_AS(slice_kernel(x, {0, 0}, {1, 0}, {3, 4}), Error);
  CHECK_THROWS_AS(slice_kernel(x, {0, 0}, {1, INT64_MIN}, {3, 2}), Error);
  CHECK_THROWS_AS(concat_kernel({spec(DType::int32, {2, 1}), spec(DType::int32, {2, 3})}, 0), Error);
  CHECK_THROWS_AS(split_kernel(spec(DType::int32, {2, 4}), {3, 2}, 1), Error);
}

TEST_CASE("slices, flips, joins and broadcasts copy rows of every length") {
  const int64_t rows = 37;
  for (const DType dtype : {DType::int8, DType::float16, DType::float32, DType::float64})
    for (int64_t n = 2; n < 80; n += n < 20 ? 1 : 7) {
      const Array x = ramp(dtype, {rows, n});
      const auto check = [&](const Array& y, auto from) {
        bool same = true;
        for (int64_t r = 0, i = 0; r < y.shape()[0]; ++r)
          for (int64_t c = 0; c < y.shape()[1]; ++c, ++i) same = same && y.number(i) == from(r, c);
        CHECK(same);
      };
      const auto element = [&](int64_t r, int64_t c) { return x.number(r * n + c); };
      const TensorSpec part = spec(dtype, {rows, n - 1}), wide = spec(dtype, {rows, 2 * n}), whole = x.spec();
      const Array inner = check_divided(slice_kernel(whole, {0, 1}, {1, 1}, part.shape), {x}, {part})[0];
      check(inner, [&](int64_t r, int64_t c) { return element(r, c + 1); });
      check(run(slice_kernel(whole, {rows - 1, 0}, {-1, 1}, part.shape), {x}, part),
            [&](int64_t r, int64_t c) { return element(rows - 1 - r, c); });
      check(check_divided(flip_kernel(whole, {1}), {x}, {whole})[0],
            [&](int64_t r, int64_t c) { return element(r, n - 1 - c); });
      check(check_divided(concat_kernel({whole, part}, 1), {x, inner}, {spec(dtype, {rows, 2 * n - 1})})[0],
            [&](int64_t r, int64_t c) { return element(r, c < n ? c : c - n + 1); });
      const auto parts = check_divided(split_kernel(whole, {1, n - 1}, 1), {x}, {spec(dtype, {rows, 1}), part});
      check(parts[1], [&](int64_t r, int64_t c) { return element(r, c + 1); });
      check(run(pad_kernel(whole, {0, 1}, {0, n - 1}, {dtype, 7}), {x}, wide),
            [&](int64_t r, int64_t c) { return c >= 1 && c <= n ? element(r, c - 1) : 7; });
      const TensorSpec three = spec(dtype, {rows, 3, n});
      const Array repeated = check_divided(broadcast_to_kernel(dtype, {rows, 1, n}, three.shape), {x}, {three})[0];
      check(repeated.reshaped({rows, 3 * n}), [&](int64_t r, int64_t c) { return element(r, c % n); });
      const Array columns =
          check_divided(broadcast_to_kernel(dtype, {rows, n, 1}, {rows, n, 3}), {x}, {spec(dtype, {rows, n, 3})})[0];
      check(columns.reshaped({rows, 3 * n}), [&](int64_t r, int64_t c) { return element(r, c / 3); });
    }
}

TEST_CASE("elements at steps of every size, up to the last one of the memory") {
  for (const DType dtype : {DType::uint8, DType::float16, DType::int32, DType::float64})
    for (const int64_t step : {-3, -1, 2, 3, 4, 5})
      for (int64_t n = 1; n < 40; ++n) {
        CAPTURE(name(dtype));
        CAPTURE(step);
        CAPTURE(n);
        const int64_t extent = (n - 1) * std::abs(step) + 1, first = step > 0 ? 0 : extent - 1;
        const Array x = ramp(dtype, {extent});
        const Array y = run(slice_kernel(x.spec(), {first}, {step}, {n}), {x}, spec(dtype, {n}));
        int64_t wrong = 0;
        for (int64_t i = 0; i < n; ++i) wrong += y.number(i) != x.number(first + i * step);
        CHECK(wrong == 0);
      }
}

TEST_CASE("slices, parts, rolled and padded tensors have the same elements in any parts") {
  for (const Shape& shape : std::vector<Shape>{{30, 20}, {6, 10, 10}, {3, 2, 10, 10}}) {
    CAPTURE(shape.size());
    const size_t rank = shape.size();
    const Array x = count(DType::float32, shape);
    const TensorSpec in = spec(DType::float32, shape);
    const auto back = std::vector<int64_t>(rank, 1);
    Shape wide = shape, narrow = shape;
    for (size_t d = 0; d < rank; ++d) wide[d] += d == 0 ? 5 : 3;
    narrow.back() -= 3;
    std::vector<int64_t> before(rank, 1), after(rank, 2), starts(rank, 0);
    before[0] = 4, after[0] = 1, starts.back() = 2;
    const Array padded =
        check_divided(pad_kernel(in, before, after, {DType::float32, 7.5}), {x}, {spec(DType::float32, wide)})[0];
    CHECK(identical(run(slice_kernel(padded.spec(), before, back, shape), {padded}, in), x));
    CHECK(padded.number(0) == 7.5);
    const Array part = check_divided(slice_kernel(in, starts, back, narrow), {x}, {spec(DType::float32, narrow)})[0];
    const Array spread = check_divided(slice_grad_kernel(part.spec(), starts, back, shape), {part}, {in})[0];
    CHECK(identical(run(slice_kernel(in, starts, back, narrow), {spread}, part.spec()), part));
    CHECK(spread.number(0) == 0);
    for (const auto axis : {int64_t{0}, static_cast<int64_t>(rank) - 1}) {
      const Array rolled = check_divided(roll_kernel(in, 7, axis), {x}, {in})[0];
      CHECK(identical(run(roll_kernel(in, -7, axis), {rolled}, in), x));
      Shape third = shape;
      const auto a = static_cast<size_t>(axis);
      third[a] /= 2;
      const std::vector<int64_t> sizes(2, third[a]);
      if (third[a] * 2 != shape[a]) continue;
      const TensorSpec half = spec(DType::float32, third);
      const std::vector<Array> parts = check_divided(split_kernel(in, sizes, axis), {x}, {half, half});
      CHECK(identical(run(concat_kernel({half, half}, axis), {parts[0], parts[1]}, in), x));
    }
  }
}
