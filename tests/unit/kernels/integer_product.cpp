// Products of 8-bit integers are exact with every instruction set, for each number of rows, columns and terms
// that a kernel treats differently.
#include "runtime/kernels/gemm/integer_product.hpp"

#include "support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

/// Bytes in an order that repeats late, the extremes among them.
std::vector<uint8_t> bytes(int64_t n, uint32_t state) {
  std::vector<uint8_t> all(static_cast<size_t>(n));
  for (uint8_t& byte : all) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<uint8_t>(state >> 24);
    if (state >> 8 & 1) byte = state >> 9 & 1 ? 0x7f : state >> 10 & 1 ? 0xff : 0x80;
  }
  return all;
}

void check(const IntegerProductFunctions& f, int64_t rows, int64_t columns, int64_t quads, uint32_t flip) {
  const int64_t terms = 4 * quads;
  const std::vector<uint8_t> left = bytes(rows * terms, 1), right = bytes(terms * columns, 2);
  std::vector<std::byte> packed(static_cast<size_t>(rows * quads * f.quad_bytes));
  std::vector<uint32_t> laid_out(static_cast<size_t>(quads * columns));
  for (int64_t r = 0; r < rows; ++r)
    f.pack(reinterpret_cast<const int8_t*>(left.data()) + r * terms, quads, packed.data() + r * quads * f.quad_bytes);
  for (int64_t q = 0; q < quads; ++q)
    f.interleave(right.data() + 4 * q * columns, columns, 4, columns, flip * 0x01010101U,
                 laid_out.data() + q * columns);
  const int64_t stride = columns + 3;
  std::vector<int32_t> out(static_cast<size_t>(rows * stride), 77);
  std::vector<uint32_t> sums(static_cast<size_t>(columns));
  const IntegerTile t{packed.data(), laid_out.data(), columns, rows, columns, quads, out.data(), stride};
  f.multiply(t);
  f.sum_columns(t, sums.data());
  int64_t wrong = 0;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t j = 0; j < stride; ++j) {
      int64_t sum = 0, column = 0;
      for (int64_t k = 0; k < terms && j < columns; ++k) {
        const auto byte = right[static_cast<size_t>(k * columns + j)] ^ flip;
        sum += static_cast<int8_t>(left[static_cast<size_t>(r * terms + k)]) * static_cast<int64_t>(byte);
        column += byte;
      }
      wrong += out[static_cast<size_t>(r * stride + j)] != (j < columns ? sum : 77);
      if (j < columns) wrong += sums[static_cast<size_t>(j)] != column;
    }
  CHECK(wrong == 0);
}

void check_all(const IntegerProductFunctions& f) {
  for (const int64_t rows : {1, 2, 3, 4, 5, 6, 7, 13})
    for (const int64_t columns : {1, 3, 4, 15, 16, 17, 33, 63, 64, 65, 130})
      for (const int64_t quads : {1, 2, 9})
        for (const uint32_t flip : {0U, 128U}) check(f, rows, columns, quads, flip);
}

}  // namespace

TEST_CASE("products of bytes are exact with every instruction set, without saturation") {
  for (const IntegerProductFunctions* f : usable_variants(integer_product_variants())) check_all(*f);
  check_all(integer_product());
}

TEST_CASE("a quad with fewer rows has the byte of no row in their place") {
  const std::vector<uint8_t> row{1, 2, 255};
  for (const IntegerProductFunctions* f : usable_variants(integer_product_variants())) {
    uint32_t to[3];
    f->interleave(row.data(), 3, 1, 3, 0x80808080U, to);
    CHECK(to[0] == 0x80808081U);
    CHECK(to[2] == 0x8080807fU);
  }
}

TEST_CASE("integer products and convolutions have the same bits however they are divided") {
  const auto array_of = [](DType dtype, Shape shape, uint32_t seed) {
    Array a(dtype, std::move(shape));
    const std::vector<uint8_t> all = bytes(a.size(), seed);
    std::copy(all.begin(), all.end(), reinterpret_cast<uint8_t*>(a.mutable_raw()));
    return a;
  };
  const Array a = array_of(DType::uint8, {2, 130, 37}, 1), b = array_of(DType::int8, {2, 37, 300}, 2),
              zero = array_of(DType::uint8, {130}, 3), columns = array_of(DType::int8, {300}, 4);
  check_divided(integer_matmul_kernel(gemm_shape(a.shape(), false, b.shape(), false), a.dtype(), b.dtype(), {130, 300}),
                {a, b, zero, columns}, {spec(DType::int32, {2, 130, 300})});
  Convolution c;
  c.batch = 2, c.groups = 2, c.cin = 6, c.cout = 40;
  c.axes[1] = c.axes[2] = {.in = 9, .kernel = 3, .padding_before = 1, .out = 9};
  const Array x = array_of(DType::int8, {2, 12, 9, 9}, 5), w = array_of(DType::uint8, {80, 6, 3, 3}, 6),
              x_zero = array_of(DType::int8, {}, 7), w_zero = array_of(DType::uint8, {80}, 8);
  check_divided(integer_convolution_kernel(c, x.dtype(), w.dtype(), {1, 80}), {x, w, x_zero, w_zero},
                {spec(DType::int32, {2, 80, 9, 9})});
}
