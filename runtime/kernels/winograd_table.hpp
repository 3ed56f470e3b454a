// Variants of Winograd's transforms; included by winograd*.cpp only.
#pragma once

#include "runtime/kernels/winograd.hpp"

namespace pxl {

const WinogradFunctions& winograd_baseline();
#if defined(__x86_64__)
const WinogradFunctions& winograd_avx2();    // x86-64-v3
const WinogradFunctions& winograd_avx512();  // x86-64-v4
#endif

}  // namespace pxl
