// The block functions for integers on x86-64-v3 (AVX2); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_INTEGER_BLOCKS integer_blocks_avx2
#include "runtime/kernels/block_integer.inc"
#endif
