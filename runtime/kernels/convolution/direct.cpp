// Selects the variant of direct convolution: the one that the block functions use.
#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/direct_table.hpp"

namespace pxl {

PXL_VARIANTS(DirectFunctions, direct)

const DirectFunctions& direct() {
  static const DirectFunctions& chosen = variant_for(instruction_set(), direct_variants());
  return chosen;
}

}  // namespace pxl
