// The skinny GEMM for x86-64-v3 (AVX2 and FMA); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_SKINNY skinny_avx2
#include "runtime/kernels/skinny.inc"
#endif
