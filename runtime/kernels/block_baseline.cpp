// The floating block functions for the baseline of the architecture (x86-64: SSE2; arm64: NEON); compiled with separate
// flags, see cmake/kernels.cmake.
#define PXL_BLOCKS blocks_baseline
#include "runtime/kernels/block.inc"
