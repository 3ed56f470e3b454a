// The packed GEMM for x86-64-v3 (AVX2, FMA); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_PACKED packed_avx2
#include "runtime/kernels/packed.inc"
#endif
