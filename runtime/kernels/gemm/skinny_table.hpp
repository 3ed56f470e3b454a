// Variants of the skinny GEMM. Included only by skinny*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/gemm/skinny.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

const SkinnyFunctions& skinny_baseline();
std::span<const KernelVariant<SkinnyFunctions>> skinny_variants();

}  // namespace pxl
