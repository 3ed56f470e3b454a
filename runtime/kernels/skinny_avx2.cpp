// The skinny products for x86-64-v3 (AVX2 and FMA); compiled with flags of its own, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_SKINNY skinny_avx2
#include "runtime/kernels/skinny.inc"
#endif
