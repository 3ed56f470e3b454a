// float16 products divided among threads: the right operand is widened and laid out once (packed.hpp), sums are float32
// in the order of the terms and rounded once.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/matmul.hpp"

namespace pxl {

/// in: a, b as the plan says (batches broadcast by its strides); all float16, k and the result not empty. Divisible;
/// the bits of the results depend neither on the number of threads nor on how the product is divided.
Kernel half_product_kernel(const MatmulPlan& plan);

}  // namespace pxl
