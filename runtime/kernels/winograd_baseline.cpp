// Winograd's transforms for the baseline of the architecture; compiled with separate flags, see cmake/kernels.cmake.
#define PXL_WINOGRAD winograd_baseline
#include "runtime/kernels/winograd.inc"
