// float16 products divided among threads: the right operand is widened and laid out once (packed.hpp), sums are float32
// in the order of the terms and rounded once.
#pragma once

#include "runtime/kernels/product.hpp"

namespace pxl {

/// As product_kernel, of float16 operands; k and the result are not empty. The bits of the results depend neither on
/// the number of threads nor on what is folded in.
Kernel half_product_kernel(const GemmShape& plan, const ProductOptions& options);

}  // namespace pxl
