// The skinny GEMM for the baseline of the architecture; compiled with separate flags, see cmake/kernels.cmake.
#define PXL_SKINNY skinny_baseline
#include "runtime/kernels/skinny.inc"
