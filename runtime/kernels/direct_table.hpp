// Variants of direct convolution; included by direct*.cpp only.
#pragma once

#include "runtime/kernels/direct.hpp"

namespace pxl {

const DirectFunctions& direct_baseline();
#if defined(__x86_64__)
const DirectFunctions& direct_avx2();    // x86-64-v3
const DirectFunctions& direct_avx512();  // x86-64-v4
#elif defined(__aarch64__)
const DirectFunctions& direct_neon();  // fused multiply-adds
#endif

}  // namespace pxl
