// The skinny products for the baseline of the architecture; compiled with flags of its own, see cmake/kernels.cmake.
#define PXL_SKINNY skinny_baseline
#include "runtime/kernels/skinny.inc"
