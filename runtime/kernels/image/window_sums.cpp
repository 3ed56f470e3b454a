// Selects the variant of window sums that the block functions use.
#include "runtime/kernels/image/window_sums.hpp"

#include "built_sets.hpp"
#include "runtime/kernels/block/block.hpp"

namespace pxl {

PXL_VARIANTS(WindowFunctions, window_functions)

const WindowFunctions& window_functions() {
  static const WindowFunctions& chosen = variant_for(instruction_set(), window_functions_variants());
  return chosen;
}

}  // namespace pxl
