// The block functions for integers on the baseline of the architecture; see cmake/kernels.cmake.
#define PXL_INTEGER_BLOCKS integer_blocks_baseline
#include "runtime/kernels/block_integer.inc"
