// Kernel column of rows with two elementwise operands that broadcast.
#pragma once

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

template <Binary f>
Kernel pairwise(const OpContext& s) {
  return binary_kernel(f, s.input(0).dtype, s.input(0).shape, s.input(1).shape, s.out[0].shape);
}

/// Throws a run-time Error if one of n integer exponents is negative; no-op for floats.
void check_exponents(DType dtype, const std::byte* exponents, int64_t n);
/// Throws the run-time Error of an operator (`//` or `%`) if one of n integer divisors is 0; no-op for floats.
void check_divisors(DType dtype, const std::byte* divisors, int64_t n, std::string_view op);

}  // namespace pxl
