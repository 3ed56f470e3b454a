// Variants of products with quantised operands. Included only by quantised_product*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/kernel_variants.hpp"
#include "runtime/kernels/quantised_product.hpp"

namespace pxl {

const QuantisedProductFunctions& quantised_product_baseline();
std::span<const KernelVariant<QuantisedProductFunctions>> quantised_product_variants();

}  // namespace pxl
