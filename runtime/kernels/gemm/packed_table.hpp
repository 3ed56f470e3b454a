// Variants of the packed GEMM. Included only by packed*.cpp and tests.
#pragma once

#include <span>

#include "runtime/kernels/gemm/packed.hpp"
#include "runtime/kernels/kernel_variants.hpp"

namespace pxl {

const PackedFunctions& packed_baseline();
std::span<const KernelVariant<PackedFunctions>> packed_variants();

}  // namespace pxl
