// Selects the variant of the block functions once, for the instruction set of the processor.
#include "runtime/kernels/block/block.hpp"

#include "built_sets.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/block/block_table.hpp"
#include "runtime/kernels/instruction_sets.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

PXL_VARIANTS(BlockTable, blocks)
PXL_VARIANTS(IntegerBlocks, integer_blocks)

namespace {

struct Variant {
  std::string_view name;
  const BlockTable& table;
  const IntegerBlocks& integers;
};

const Variant& variant() {
  static const Variant chosen = [] {
    const std::string_view set = supported_instruction_set();
    return Variant{set, variant_for(set, blocks_variants()), variant_for(set, integer_blocks_variants())};
  }();
  return chosen;
}

/// The dtype's column in the tables, or -1.
int column(DType dtype) {
  switch (dtype) {
    case DType::float32: return 0;
    case DType::float64: return 1;
    case DType::float16: return 2;
    case DType::bfloat16: return 3;
    default: return -1;
  }
}

}  // namespace

UnaryBlock unary_block(Unary op, DType dtype) {
  const int c = column(dtype);
  return c < 0 ? integer_blocks().unary(op, dtype) : variant().table.unary[static_cast<int>(op)][c];
}
BinaryBlock binary_block(Binary op, DType dtype) {
  const int c = column(dtype);
  return c < 0 ? integer_blocks().binary(op, dtype) : variant().table.binary[static_cast<int>(op)][c];
}
ParametricBlock parametric_block(Parametric op, DType dtype) {
  const int c = column(dtype);
  return c < 0 ? nullptr : variant().table.parametric[static_cast<int>(op)][c];
}
ValueAndDerivativeFn value_and_derivative_block(Unary op) { return variant().table.derivatives[static_cast<int>(op)]; }
const IntegerBlocks& integer_blocks() { return variant().integers; }
const BulkFunctions& bulk() { return variant().table.bulk; }
const NarrowFunctions* narrow_functions(DType dtype) {
  switch (dtype) {
    case DType::float16: return &bulk().float16;
    case DType::bfloat16: return &bulk().bfloat16;
    default: return nullptr;
  }
}

std::string_view instruction_set() { return variant().name; }

}  // namespace pxl
