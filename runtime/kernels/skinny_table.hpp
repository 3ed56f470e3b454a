// Variants of the skinny GEMM; included by skinny*.cpp only.
#pragma once

#include "runtime/kernels/skinny.hpp"

namespace pxl {

const SkinnyFunctions& skinny_baseline();
#if defined(__x86_64__)
const SkinnyFunctions& skinny_avx2();    // x86-64-v3
const SkinnyFunctions& skinny_avx512();  // x86-64-v4
#elif defined(__aarch64__)
const SkinnyFunctions& skinny_neon();  // fused multiply-adds
#endif

}  // namespace pxl
