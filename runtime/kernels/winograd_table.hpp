// Variants of Winograd's transforms; included by winograd*.cpp and tests only.
#pragma once

#include <span>

#include "runtime/kernels/kernel_variants.hpp"
#include "runtime/kernels/winograd.hpp"

namespace pxl {

const WinogradFunctions& winograd_baseline();
std::span<const KernelVariant<WinogradFunctions>> winograd_variants();

}  // namespace pxl
