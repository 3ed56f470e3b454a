// Selects the variant of the skinny GEMM: the one that the block functions use.
#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/skinny_table.hpp"

namespace pxl {

PXL_VARIANTS(SkinnyFunctions, skinny)

const SkinnyFunctions& skinny() {
  static const SkinnyFunctions& chosen = variant_for(instruction_set(), skinny_variants());
  return chosen;
}

}  // namespace pxl
