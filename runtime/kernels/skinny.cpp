// Selects the variant of the skinny GEMM: that of the block functions.
#include "runtime/kernels/skinny.hpp"

#include "runtime/kernels/block.hpp"
#include "runtime/kernels/skinny_table.hpp"

namespace pxl {

const SkinnyFunctions& skinny() {
  static const SkinnyFunctions& chosen = []() -> const SkinnyFunctions& {
#if defined(__x86_64__)
    if (instruction_set() == "avx512") return skinny_avx512();
    if (instruction_set() == "avx2") return skinny_avx2();
#elif defined(__aarch64__)
    if (instruction_set() == "neon") return skinny_neon();
#endif
    return skinny_baseline();
  }();
  return chosen;
}

}  // namespace pxl
