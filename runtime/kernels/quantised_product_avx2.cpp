// Products of quantised operands for x86-64-v3 (AVX2 and FMA); compiled with separate flags, see cmake/kernels.cmake.
#if defined(__x86_64__)
#define PXL_QUANTISED_PRODUCT quantised_product_avx2
#include "runtime/kernels/quantised_product.inc"
#endif
