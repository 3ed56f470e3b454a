// Selects the variant of direct convolution: that of the block functions.
#include "runtime/kernels/block.hpp"
#include "runtime/kernels/direct_table.hpp"

namespace pxl {

const DirectFunctions& direct() {
  static const DirectFunctions& chosen = []() -> const DirectFunctions& {
#if defined(__x86_64__)
    if (instruction_set() == "avx512") return direct_avx512();
    if (instruction_set() == "avx2") return direct_avx2();
#elif defined(__aarch64__)
    if (instruction_set() == "neon") return direct_neon();
#endif
    return direct_baseline();
  }();
  return chosen;
}

}  // namespace pxl
