// Variants of products with quantised operands. Included only by quantised_product*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/gemm/quantised_product.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

const QuantisedProductFunctions& quantised_product_baseline();
std::span<const KernelVariant<QuantisedProductFunctions>> quantised_product_variants();

}  // namespace pxl
