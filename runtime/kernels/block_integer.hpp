// The block functions of integers and bool; seen by block.cpp.
#pragma once

#include "runtime/kernels/block.hpp"

namespace pxl {

/// Null for floating dtypes and where the dtype is not taken.
UnaryBlock integer_unary_block(Unary op, DType dtype);
BinaryBlock integer_binary_block(Binary op, DType dtype);

}  // namespace pxl
