// Winograd's transforms for x86-64-v4 (AVX-512); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_WINOGRAD winograd_avx512
#include "runtime/kernels/winograd.inc"
#endif
