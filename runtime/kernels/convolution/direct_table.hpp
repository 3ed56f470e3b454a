// Variants of direct convolution. Included only by direct*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/convolution/direct.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

const DirectFunctions& direct_baseline();
std::span<const KernelVariant<DirectFunctions>> direct_variants();

}  // namespace pxl
