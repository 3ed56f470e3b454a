// Selects the variant of Winograd's transforms: that of the block functions.
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/winograd_table.hpp"

namespace pxl {

const WinogradFunctions& winograd() {
  static const WinogradFunctions& chosen = []() -> const WinogradFunctions& {
#if defined(__x86_64__)
    if (instruction_set() == "avx512") return winograd_avx512();
    if (instruction_set() == "avx2") return winograd_avx2();
#endif
    return winograd_baseline();
  }();
  return chosen;
}

}  // namespace pxl
