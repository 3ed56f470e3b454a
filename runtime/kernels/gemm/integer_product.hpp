// Products and convolutions of 8-bit integers, summed exactly in int32. A quad is four terms of one column or one row,
// which one instruction multiplies. Zero points cost sums of rows and columns, no term.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/kernels/convolution/convolution.hpp"
#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

/// out[r, j] = sum over quads of left[r, q] * right[q, j], modulo 2^32. Terms on the left are signed, on the right
/// unsigned.
struct IntegerTile {
  const std::byte* left = nullptr;  ///< rows of `pack`, adjacent
  const uint32_t* right = nullptr;
  int64_t right_stride = 0;  ///< columns between quads
  int64_t rows = 0, columns = 0, quads = 0;
  int32_t* out = nullptr;
  int64_t out_stride = 0;
};

/// Elements of a plane, times a factor: to[i] += factor * ((from[i * stride] ^ flip) - zero).
struct IntegerTap {
  const uint8_t* from = nullptr;
  int64_t stride = 1, count = 0;
  uint8_t flip = 0;
  int32_t zero = 0, factor = 0;
  int32_t* to = nullptr;
};

struct IntegerProductFunctions {
  int64_t quad_bytes;  ///< of a quad that `pack` wrote
  /// Lays out a row of the left operand, given as int8.
  void (*pack)(const int8_t* from, int64_t quads, std::byte* to);
  /// to[j] = the bytes at column j of `rows` rows, lowest first, xor `flip` in each byte. A quad has at most 4 rows;
  /// missing rows are 0 before `flip`.
  void (*interleave)(const uint8_t* from, int64_t stride, int64_t rows, int64_t columns, uint32_t flip, uint32_t* to);
  void (*multiply)(const IntegerTile&);
  void (*sum_columns)(const IntegerTile&, uint32_t* to);  ///< the sums of the columns of `right`
  void (*add_tap)(const IntegerTap&);
};

const IntegerProductFunctions& integer_product_baseline();
std::span<const KernelVariant<IntegerProductFunctions>> integer_product_variants();
/// The variant in use.
const IntegerProductFunctions& integer_product();

/// How many elements the zero points have: 0 (none), 1, or one for each row of a, column of b, or channel of a result.
struct ZeroPoints {
  int64_t first = 0, second = 0;
};

/// in: a, b, and the zero points of a and b, each int8 or uint8 as its operand; out: int32, (a - zero) @ (b - zero).
Kernel integer_matmul_kernel(const GemmShape& shape, DType a, DType b, ZeroPoints zeros);
/// in: x, weight, and their zero points, as above; out: int32. Padding counts as x's zero point.
Kernel integer_convolution_kernel(const Convolution& c, DType x, DType weight, ZeroPoints zeros);

}  // namespace pxl
