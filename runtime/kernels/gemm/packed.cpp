// Selects the variant of the packed GEMM: the one that the block functions use.
#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/gemm/packed_table.hpp"

namespace pxl {

PXL_VARIANTS(PackedFunctions, packed)

const PackedFunctions& packed() {
  static const PackedFunctions& chosen = variant_for(instruction_set(), packed_variants());
  return chosen;
}

}  // namespace pxl
