// Multithreaded GEMM for 16-bit floats. B is widened and packed once (packed.hpp). Sums are float32, in the order of k,
// and rounded once at the end.
#pragma once

#include "runtime/kernels/gemm/product.hpp"

namespace pxl {

/// product_kernel for operands whose dtype, ProductOptions::dtype, is narrow; k and the result are not empty. Results
/// have the same bits for any number of threads, with and without an epilogue.
Kernel narrow_product_kernel(const GemmShape& plan, const ProductOptions& options);

}  // namespace pxl
