// Activations whose derivative is computed together with the value. The two share most of the arithmetic, and the
// backward pass then only multiplies. float32.
#pragma once

#include <optional>

#include "runtime/kernels/elementwise/elementwise.hpp"

namespace pxl {

/// The activation f of a gradient function g f'(x); nullopt for other binary functions.
std::optional<Unary> derivative_of(Binary gradient);
/// The same, by the gradient function's name.
std::optional<Unary> function_of_gradient(std::string_view name);
/// Whether value_and_derivative_kernel supports the function.
bool has_derivative(Unary function);

/// in: x[n]; out: f(x), f'(x), float32; either may alias x. f(x) has the bits of f's own kernel, and g f'(x) those of
/// the gradient's kernel.
Kernel value_and_derivative_kernel(Unary function, int64_t n);

}  // namespace pxl
