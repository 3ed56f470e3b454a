// The table of block functions, one per variant. Included only by block.cpp, block_*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

struct BlockTable {
  static constexpr int columns = 4;  ///< float32, float64, float16, bfloat16
  UnaryBlock unary[static_cast<int>(Unary::count)][columns] = {};
  BinaryBlock binary[static_cast<int>(Binary::count)][columns] = {};
  ParametricBlock parametric[static_cast<int>(Parametric::count)][columns] = {};
  ValueAndDerivativeFn derivatives[static_cast<int>(Unary::count)] = {};
  BulkFunctions bulk = {};
};

const BlockTable& blocks_baseline();
std::span<const KernelVariant<BlockTable>> blocks_variants();

}  // namespace pxl
