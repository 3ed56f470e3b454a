// Variants of products of quantised operands; included by quantised_product*.cpp and tests only.
#pragma once

#include <span>

#include "runtime/kernels/kernel_variants.hpp"
#include "runtime/kernels/quantised_product.hpp"

namespace pxl {

const QuantisedProductFunctions& quantised_product_baseline();
std::span<const KernelVariant<QuantisedProductFunctions>> quantised_product_variants();

}  // namespace pxl
