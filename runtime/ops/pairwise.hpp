// The kernel column of rows with two elementwise operands that broadcast against each other.
#pragma once

#include "runtime/kernels/elementwise.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

template <Binary f>
Kernel pairwise(const OpContext& s) {
  return binary_kernel(f, s.input(0).dtype, s.input(0).shape, s.input(1).shape, s.out[0].shape);
}

/// The run-time Error where an integer divisor of n is 0, in the words of an operator, `//` or `%`; nothing of floats.
void check_divisors(DType dtype, const std::byte* divisors, int64_t n, std::string_view op);

}  // namespace pxl
