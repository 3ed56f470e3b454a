// Adapts a float32 kernel to narrower operands: they are widened, and the result is rounded once.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// A converted operand or result: its number of elements, and its dtype: float16, bfloat16, or float8 for an operand.
struct NarrowOperand {
  int64_t size;
  DType dtype;
};

/// `inner` consists of phases, is linear in its first operand, and has the output `out`; its first inputs are `in`.
/// Further inputs are passed unchanged, up to `total` inputs in all. `log2_scale` is the slot of an int32 scalar. The
/// result is multiplied by two to that power before it is rounded; the first operand must then be float8. The kernel
/// throws Error unless the power is in [-32, 32).
Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, const NarrowOperand& out,
                     size_t total = 0, std::optional<size_t> log2_scale = {});

}  // namespace pxl
