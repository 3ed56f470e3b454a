// Variants of the packed GEMM; included by packed*.cpp only.
#pragma once

#include "runtime/kernels/packed.hpp"

namespace pxl {

const PackedFunctions& packed_baseline();
#if defined(__x86_64__)
const PackedFunctions& packed_avx2();    // x86-64-v3
const PackedFunctions& packed_avx512();  // x86-64-v4
#elif defined(__aarch64__)
const PackedFunctions& packed_neon();  // fused multiply-adds
#endif

}  // namespace pxl
