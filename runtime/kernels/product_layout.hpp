// Batches of products whose matrices lie strided in memory.
#pragma once

#include "runtime/kernels/matmul.hpp"
#include "runtime/tensor/layout.hpp"

namespace pxl {

/// A plan for operands that lie so: where they are the stored matrices of `plan`, a batch of products, and each matrix
/// has an axis whose elements lie side by side. Nothing for others.
std::optional<GemmShape> with_operands(const GemmShape& plan, const StridedLayout& a, const StridedLayout& b);
/// A plan whose results lie so, `result` being of the shape of the plan's; the operands may change places, see
/// `swapped`.
struct StridedOutputGemm {
  GemmShape plan;
  bool swapped = false;  ///< the plan's a is the product's b
};
std::optional<StridedOutputGemm> with_result(const GemmShape& plan, const StridedLayout& result);

}  // namespace pxl
