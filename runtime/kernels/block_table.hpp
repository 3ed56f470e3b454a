// The table of one variant of the block functions; included by block.cpp and block_*.cpp, and tests, only.
#pragma once

#include <span>

#include "runtime/kernels/block.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

struct BlockTable {
  UnaryBlock unary[static_cast<int>(Unary::count)][3] = {};  ///< float32, float64, float16
  BinaryBlock binary[static_cast<int>(Binary::count)][3] = {};
  ParametricBlock parametric[static_cast<int>(Parametric::count)][3] = {};
  ValueAndDerivativeFn derivatives[static_cast<int>(Unary::count)] = {};
  BulkFunctions bulk = {};
};

const BlockTable& blocks_baseline();
std::span<const KernelVariant<BlockTable>> blocks_variants();

}  // namespace pxl
