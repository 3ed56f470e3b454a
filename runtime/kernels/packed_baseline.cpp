// The packed GEMM for the baseline of the architecture; compiled with separate flags, see cmake/kernels.cmake.
#define PXL_PACKED packed_baseline
#include "runtime/kernels/packed.inc"
