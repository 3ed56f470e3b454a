// The packed products for the baseline of the architecture; compiled with flags of its own, see cmake/kernels.cmake.
#define PXL_PACKED packed_baseline
#include "runtime/kernels/packed.inc"
