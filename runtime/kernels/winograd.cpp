// Selects the variant of Winograd's transforms: that of the block functions.
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/winograd_table.hpp"

namespace pxl {

PXL_VARIANTS(PXL_VECTOR_SETS, WinogradFunctions, winograd)

const WinogradFunctions& winograd() {
  static const WinogradFunctions& chosen = variant_for(instruction_set(), winograd_variants());
  return chosen;
}

}  // namespace pxl
