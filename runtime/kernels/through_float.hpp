// float16 through float32: operands are converted, a float32 kernel runs, and its result is rounded once.
#pragma once

#include <vector>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// `inner` is made of phases, has one output of `out` elements, and its first inputs have `in` elements; these become
/// float16. Further inputs are passed on as they are, up to `total` inputs in all.
Kernel through_float(const Kernel& inner, const std::vector<int64_t>& in, int64_t out, size_t total = 0);

}  // namespace pxl
