// Weights stored as whole numbers of few bits, with a scale for each group of rows and column.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: weights int8 [k, n], or with `packed` uint8 [k / 2, n], of which row i has rows 2 i (low four bits) and 2 i + 1
/// (high four bits), each 8 more than it is; scales, float16 or float32, [ceil(k / group), n]. out: [k, n], the weights
/// times the scales of their rows' groups, rounded once. Elementwise; a product of few rows widens the weights itself.
Kernel dequantise_kernel(const TensorSpec& weights, const TensorSpec& scales, bool packed, int64_t group);

}  // namespace pxl
