// Direct convolution for x86-64-v3 (AVX2, FMA); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_DIRECT direct_avx2
#include "runtime/kernels/direct.inc"
#endif
