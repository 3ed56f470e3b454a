// Selects the variant of the packed GEMM: that of the block functions.
#include "runtime/kernels/packed.hpp"

#include "runtime/kernels/block.hpp"
#include "runtime/kernels/packed_table.hpp"

namespace pxl {

const PackedFunctions& packed() {
  static const PackedFunctions& chosen = []() -> const PackedFunctions& {
#if defined(__x86_64__)
    if (instruction_set() == "avx512") return packed_avx512();
    if (instruction_set() == "avx2") return packed_avx2();
#elif defined(__aarch64__)
    if (instruction_set() == "neon") return packed_neon();
#endif
    return packed_baseline();
  }();
  return chosen;
}

}  // namespace pxl
