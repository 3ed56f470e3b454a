// Block functions of integers and bool; included by block.cpp.
#pragma once

#include "runtime/kernels/block.hpp"

namespace pxl {

/// Null for floating and unsupported dtypes.
UnaryBlock integer_unary_block(Unary op, DType dtype);
BinaryBlock integer_binary_block(Binary op, DType dtype);

}  // namespace pxl
