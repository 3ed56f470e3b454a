// Functions of one number whose slope costs about as much as they do and shares most of its work: both in one pass, for
// a backward pass that then only multiplies. float32.
#pragma once

#include <optional>

#include "runtime/kernels/elementwise.hpp"

namespace pxl {

/// The function whose slope at x a gradient function multiplies g by; nothing for other functions of two operands.
std::optional<Unary> derivative_of(Binary gradient);
/// Whether value_and_derivative_kernel takes it.
bool has_derivative(Unary function);

/// in: x[n]; out: f(x) and its slope, float32, either of them perhaps in x's memory. The bits are those of f's own
/// kernel, and g times the slope has those of the gradient's.
Kernel value_and_derivative_kernel(Unary function, int64_t n);

}  // namespace pxl
