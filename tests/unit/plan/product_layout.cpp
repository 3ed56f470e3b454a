// Layouts of tensors in memory, and products of strided matrices.
#include "runtime/plan/product_layout.hpp"

#include "../kernels/support.hpp"
#include "runtime/kernels/gemm/product.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// The elements of a layout, in row-major order of its shape.
Array gathered(const Array& memory, const StridedLayout& at) {
  Array out(DType::float32, at.shape);
  for (int64_t i = 0; i < out.size(); ++i) {
    int64_t rest = i, from = at.offset;
    for (size_t axis = at.shape.size(); axis-- > 0; rest /= at.shape[axis])
      from += rest % at.shape[axis] * at.strides[axis];
    out.mutable_data<float>()[i] = memory.data<float>()[from];
  }
  return out;
}

bool same_elements(const StridedLayout& a, const StridedLayout& b, int64_t memory) {
  const Array all = ramp(DType::float32, {memory});
  Array x = gathered(all, a), y = gathered(all, b);
  return x.size() == y.size() && std::equal(x.data<float>(), x.data<float>() + x.size(), y.data<float>());
}

/// Heads [batch, heads, rows, width] of part `part`. A tensor [batch * rows, 3 * heads * width] has three parts.
StridedLayout heads(int64_t batch, int64_t rows, int64_t count, int64_t width, int64_t part) {
  const StridedLayout whole = contiguous({batch * rows, 3 * count * width});
  return permuted(*reshaped(narrowed(whole, 1, part * count * width, count * width), {batch, rows, count, width}),
                  {0, 2, 1, 3});
}

}  // namespace

TEST_CASE("reshaping keeps strides where there are some") {
  const StridedLayout rows = contiguous({4, 6});
  CHECK(reshaped(rows, {24})->strides == Shape{1});
  CHECK(reshaped(rows, {2, 2, 3, 2})->strides == Shape{12, 6, 2, 1});
  CHECK(same_elements(*reshaped(rows, {1, 8, 1, 3, 1}), rows, 24));
  const StridedLayout part = narrowed(rows, 1, 2, 3);
  CHECK(part.offset == 2);
  CHECK(reshaped(part, {2, 2, 3, 1})->strides == Shape{12, 6, 1, 1});
  CHECK(same_elements(*reshaped(part, {2, 2, 3}), part, 24));
  CHECK(!reshaped(part, {12}));
  CHECK(!reshaped(permuted(rows, {1, 0}), {24}));
  CHECK(same_elements(*reshaped(permuted(rows, {1, 0}), {3, 2, 4}), permuted(rows, {1, 0}), 24));
  CHECK(reshaped(contiguous({1, 1}), {1})->strides == Shape{1});
  CHECK(reshaped(contiguous({}), {1, 1}));
  CHECK(!reshaped(contiguous({0, 3}), {3, 0}));
  CHECK(!reshaped(rows, {5, 5}));
}

TEST_CASE("a batch of products reads and writes strided matrices") {
  const int64_t batch = 2, count = 3;
  for (const int64_t rows : {int64_t{3}, int64_t{24}, int64_t{70}}) {
    for (const int64_t width : {int64_t{1}, int64_t{16}, int64_t{40}}) {
      CAPTURE(rows);
      CAPTURE(width);
      const Array memory = ramp(DType::float32, {batch * rows, 3 * count * width}, 1);
      const StridedLayout q = heads(batch, rows, count, width, 0), k = heads(batch, rows, count, width, 1);
      const StridedLayout kt = permuted(k, {0, 1, 3, 2});
      const Array dense_q = gathered(memory, q), dense_kt = gathered(memory, kt), dense_k = gathered(memory, k);
      const GemmShape dense = gemm_shape(q.shape, false, kt.shape, false);
      const TensorSpec scores = spec(DType::float32, dense.out);
      const Array expected = run(product_kernel(dense, {}), {dense_q, dense_kt}, scores);
      const std::optional<GemmShape> plan = with_operands(dense, q, kt);
      REQUIRE(plan);
      const std::byte* in[] = {memory.raw(), memory.raw()};
      for (int pieces : {1, 3}) {
        Array result(DType::float32, scores.shape);
        std::byte* out[] = {result.mutable_raw()};
        run_in_pieces(product_kernel(*plan, {}), {in, out}, pieces);
        CHECK(identical(result, expected));
      }
      // Later ops read the elements in place.
      Array taken = Array::zeros(DType::float32, scores.shape);
      float* to = taken.mutable_data<float>();
      ProductOptions options;
      options.out = -1;
      options.epilogue = [to](const Buffers&, std::byte* values, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) to[i] += reinterpret_cast<float*>(values)[i - begin];
      };
      run_in_pieces(product_kernel(*plan, options), {in, nullptr}, 2);
      CHECK(identical(taken, expected));
      // scores @ k, with the heads after the rows, or last of all, which no strides of matrices express.
      const GemmShape mixing = gemm_shape(scores.shape, false, k.shape, false);
      const Array mixed = run(product_kernel(mixing, {}), {expected, dense_k}, spec(DType::float32, mixing.out));
      const std::optional<GemmShape> from = with_operands(mixing, contiguous(scores.shape), k);
      REQUIRE(from);
      const std::byte* second[] = {expected.raw(), memory.raw()};
      for (const std::vector<int64_t>& axes : {std::vector<int64_t>{0, 2, 1, 3}, std::vector<int64_t>{3, 2, 0, 1}}) {
        // Axis axes[i] of the product is axis i of the result.
        Shape shape;
        for (int64_t axis : axes) shape.push_back(mixing.out[static_cast<size_t>(axis)]);
        StridedLayout result = contiguous(mixing.out);
        for (size_t i = 0; i < axes.size(); ++i) result.strides[static_cast<size_t>(axes[i])] = strides_of(shape)[i];
        const std::optional<StridedOutputGemm> given = with_result(*from, result);
        const bool expressible = axes[3] == 3;
        REQUIRE(given.has_value() == expressible);
        if (!given) continue;
        Array written(DType::float32, shape);
        std::byte* out[] = {written.mutable_raw()};
        run_in_pieces(product_kernel(given->plan, {}), {second, out}, 3);
        CHECK(identical(gathered(written, result), mixed));
      }
      // Transposed: the operands change places.
      StridedLayout turned = contiguous(mixing.out);
      turned.strides = strides_of({batch, count, width, rows});
      std::swap(turned.strides[2], turned.strides[3]);
      const std::optional<StridedOutputGemm> given = with_result(*from, turned);
      REQUIRE(given);
      ProductOptions places;
      if (given->swapped) std::swap(places.a, places.b);
      Array written(DType::float32, {batch, count, width, rows});
      std::byte* out[] = {written.mutable_raw()};
      run_in_pieces(product_kernel(given->plan, places), {second, out}, 2);
      const Array back = gathered(written, turned);
      for (int64_t i = 0; i < back.size(); ++i) CHECK(close(back.number(i), mixed.number(i), 1e-5));
    }
  }
}

TEST_CASE("layouts that no strides of matrices express") {
  const StridedLayout a = contiguous({2, 4, 8}), b = contiguous({2, 8, 4});
  const GemmShape plan = gemm_shape(a.shape, false, b.shape, false);
  CHECK(with_operands(plan, a, b));
  StridedLayout apart = a;
  apart.strides = {64, 16, 2};
  CHECK(!with_operands(plan, apart, b));
  CHECK(!with_operands(gemm_shape({4, 8}, false, {8, 4}, false), contiguous({4, 8}), contiguous({8, 4})));
}
