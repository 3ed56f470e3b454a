// Variants of Winograd's transforms. Included only by winograd*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/convolution/winograd.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

const WinogradTable& winograd_baseline();
std::span<const KernelVariant<WinogradTable>> winograd_variants();

}  // namespace pxl
