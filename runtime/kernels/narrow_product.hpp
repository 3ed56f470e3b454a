// Multithreaded GEMM of floats of 16 bits: B is widened and packed once (packed.hpp), sums are float32 in the order of
// k and rounded once at the end.
#pragma once

#include "runtime/kernels/product.hpp"

namespace pxl {

/// product_kernel for operands of ProductOptions::dtype, which is narrow; k and the result are not empty. Results have
/// the same bits for any number of threads, with and without an epilogue.
Kernel narrow_product_kernel(const GemmShape& plan, const ProductOptions& options);

}  // namespace pxl
