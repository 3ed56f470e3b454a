// The table of one variant of the block functions; included by block.cpp and block_*.cpp only.
#pragma once

#include "runtime/kernels/block.hpp"

namespace pxl {

struct BlockTable {
  UnaryBlock unary[static_cast<int>(Unary::count)][3] = {};  ///< float32, float64, float16
  BinaryBlock binary[static_cast<int>(Binary::count)][3] = {};
  ValueAndDerivativeFn derivatives[static_cast<int>(Unary::count)] = {};
  BulkFunctions bulk = {};
};

const BlockTable& blocks_baseline();
#if defined(__x86_64__)
const BlockTable& blocks_avx2();    // x86-64-v3
const BlockTable& blocks_avx512();  // x86-64-v4
#endif

}  // namespace pxl
