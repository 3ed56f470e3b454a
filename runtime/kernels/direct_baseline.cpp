// Direct convolution for the baseline of the architecture; compiled with separate flags, see cmake/kernels.cmake.
#define PXL_DIRECT direct_baseline
#include "runtime/kernels/direct.inc"
