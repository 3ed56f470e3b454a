// Selects the variant of Winograd's transforms: the one that the block functions use.
#include <algorithm>

#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/convolution/winograd_table.hpp"

namespace pxl {

PXL_VARIANTS(WinogradTable, winograd)

const WinogradTable& winograd() {
  static const WinogradTable& chosen = variant_for(instruction_set(), winograd_variants());
  return chosen;
}

const WinogradFunctions& winograd(const WinogradForm& form) {
  return *std::find_if(winograd().begin(), winograd().end(),
                       [&](const WinogradFunctions& f) { return f.form == form; });
}

}  // namespace pxl
