// Products of quantised operands for the baseline of the architecture; see cmake/kernels.cmake.
#define PXL_QUANTISED_PRODUCT quantised_product_baseline
#include "runtime/kernels/quantised_product.inc"
