// Batched GEMM on strided operands and results.
#pragma once

#include "runtime/kernels/gemm/matmul.hpp"
#include "runtime/tensor/layout.hpp"

namespace pxl {

/// `plan` with a and b read through these strides; nullopt unless `plan` is a batch of products and every matrix has a
/// unit-stride axis.
std::optional<GemmShape> with_operands(const GemmShape& plan, const StridedLayout& a, const StridedLayout& b);
/// `plan` with the result written through strides. `result` has the plan's shape. The operands may be exchanged.
struct StridedOutputGemm {
  GemmShape plan;
  bool swapped = false;  ///< a and b are exchanged (the transposed product)
};
std::optional<StridedOutputGemm> with_result(const GemmShape& plan, const StridedLayout& result);

}  // namespace pxl
