// Block functions of integers and bool; block.cpp selects a variant.
#pragma once

#include <cstdint>

#include "runtime/kernels/block.hpp"

namespace pxl {

struct IntegerBlocks {
  /// Null for floating and unsupported dtypes.
  UnaryBlock (*unary)(Unary op, DType dtype);
  BinaryBlock (*binary)(Binary op, DType dtype);
  /// to[i] += factor * from[i] for i < n, wrapping. The two do not overlap.
  void (*add_multiple32)(uint32_t factor, const uint32_t* from, uint32_t* to, int64_t n);
  void (*add_multiple64)(uint64_t factor, const uint64_t* from, uint64_t* to, int64_t n);
};

const IntegerBlocks& integer_blocks_baseline();
#if defined(__x86_64__)
const IntegerBlocks& integer_blocks_avx2();  // x86-64-v3
#endif
/// The variant in use.
const IntegerBlocks& integer_blocks();

}  // namespace pxl
