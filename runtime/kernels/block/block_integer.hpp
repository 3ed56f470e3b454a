// Block functions for integers and bool, for elements that are only moved, for conversions and for ranks. block.cpp
// selects a variant.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

/// *result = the largest or the smallest of n > 0 elements x.
using ExtremeFn = void (*)(const void* x, void* result, int64_t n);
/// The first i < n with x[i] == *value; n if there is none.
using FindFn = int64_t (*)(const void* x, const void* value, int64_t n);
/// out[i] = c[i] ? a[i] : b[i]; out may alias a or b (single elements are read first).
using SelectFn = void (*)(const bool* c, const void* a, const void* b, void* out, int64_t n);
/// out[i] = *value, which is read first.
using FillFn = void (*)(const void* value, void* out, int64_t n);

struct IntegerBlocks {
  /// Null for floating and unsupported dtypes.
  UnaryBlock (*unary)(Unary op, DType dtype);
  BinaryBlock (*binary)(Binary op, DType dtype);
  /// to[i] += sum over r < rows of factors[r] * from[r * stride + i] for i < n, wrapping. `from` and `to` do not
  /// overlap.
  void (*add_multiples32)(const uint32_t* factors, int64_t rows, const uint32_t* from, int64_t stride, uint32_t* to,
                          int64_t n);
  void (*add_multiples64)(const uint64_t* factors, int64_t rows, const uint64_t* from, int64_t stride, uint64_t* to,
                          int64_t n);
  /// Null for floating dtypes.
  ExtremeFn (*extreme)(bool largest, DType dtype);
  /// Elements have `width` bytes: 1, 2, 4 or 8.
  FindFn (*find)(size_t width);
  /// Elements have `width` bytes: 1, 2, 4 or 8. Each operand is a block or a single element.
  SelectFn (*select)(size_t width, bool block_a, bool block_b);
  FillFn (*fill)(size_t width);
  /// Converts to another dtype; null if either is float16. Integers wrap. Floats become integers by rounding towards 0,
  /// saturating.
  UnaryBlock (*conversion)(DType from, DType to);
  /// Unsigned ranks (rank.hpp), complemented if `descending`. The output is another block.
  UnaryBlock (*ranks)(DType dtype, bool descending);
};

const IntegerBlocks& integer_blocks_baseline();
std::span<const KernelVariant<IntegerBlocks>> integer_blocks_variants();
/// The variant in use.
const IntegerBlocks& integer_blocks();

}  // namespace pxl
