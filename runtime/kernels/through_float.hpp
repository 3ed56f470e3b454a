// Adapts a float32 kernel to operands of fewer bits: they are widened, and the result is rounded once.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// An operand or a result that is converted: its number of elements, and float16, bfloat16 or, of an operand, a float8.
struct NarrowOperand {
  int64_t size;
  DType dtype;
};

/// `inner` is made of phases, is linear in its first operand, and has the output `out`; its first inputs
/// are `in`. Further inputs are passed on as they are, up to `total` inputs in all. With `log2_scale`, the slot of an
/// int32 scalar, the result is multiplied by two to that power before it is rounded, which a first operand of float8 is
/// needed for; the kernel throws Error where the power is not in [-32, 32).
Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, const NarrowOperand& out,
                     size_t total = 0, std::optional<size_t> log2_scale = {});

}  // namespace pxl
