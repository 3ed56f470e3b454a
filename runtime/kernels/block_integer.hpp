// Block functions of integers and bool; included by block.cpp.
#pragma once

#include <cstdint>

#include "runtime/kernels/block.hpp"

namespace pxl {

/// Null for floating and unsupported dtypes.
UnaryBlock integer_unary_block(Unary op, DType dtype);
BinaryBlock integer_binary_block(Binary op, DType dtype);

/// to[i] += factor * from[i] for i < n, wrapping. The two do not overlap.
void add_multiple(uint32_t factor, const uint32_t* from, uint32_t* to, int64_t n);
void add_multiple(uint64_t factor, const uint64_t* from, uint64_t* to, int64_t n);

}  // namespace pxl
