// The block functions of integers for the baseline of the architecture; see cmake/kernels.cmake.
#define PXL_INTEGER_BLOCKS integer_blocks_baseline
#include "runtime/kernels/block_integer.inc"
