// Winograd's transforms for x86-64-v3 (AVX2); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_WINOGRAD winograd_avx2
#include "runtime/kernels/winograd.inc"
#endif
