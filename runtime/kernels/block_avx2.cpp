// The floating block functions for x86-64-v3 (AVX2, F16C); compiled with separate flags, see
// cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_BLOCKS blocks_avx2
#include "runtime/kernels/block.inc"
#endif
