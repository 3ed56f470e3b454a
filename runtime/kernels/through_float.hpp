// Adapts a float32 kernel to float16 and float8 operands: operands are widened, and the result is rounded once to
// float16.
#pragma once

#include <optional>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// An operand that is converted: its number of elements, and float16 or a float8.
struct NarrowOperand {
  int64_t size;
  DType dtype = DType::float16;
  NarrowOperand(int64_t n, DType d = DType::float16) : size(n), dtype(d) {}
};

/// `inner` is made of phases, is linear in its first operand, and has one output of `out` elements; its first inputs
/// are `in`. Further inputs are passed on as they are, up to `total` inputs in all. With `log2_scale`, the slot of an
/// int32 scalar, the result is multiplied by two to that power before it is rounded, which a first operand of float8 is
/// needed for; the kernel throws Error where the power is not in [-32, 32).
Kernel through_float(const Kernel& inner, const std::vector<NarrowOperand>& in, int64_t out, size_t total = 0,
                     std::optional<size_t> log2_scale = {});

}  // namespace pxl
