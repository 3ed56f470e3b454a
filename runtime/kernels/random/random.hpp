// Counter-based random kernels (Philox, runtime/tensor/random.hpp). Every value is a function of the seed tensor
// (uint32[2]) and the element's position only, so a backward pass with the same seed sees the same mask.
#pragma once

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// in: seed. Uniform on [low, high), floating `out`.
Kernel random_uniform_kernel(const TensorSpec& out, double low, double high);
/// in: seed. Normal (Box-Muller), floating `out`.
Kernel random_normal_kernel(const TensorSpec& out, double mean, double std);
/// in: x, seed. out: x / (1-p) with probability 1-p, else 0; p = 0 copies, p = 1 yields zeros. The gradient is the same
/// kernel on g with the same seed. out may be x's memory. Throws Error unless 0 <= p <= 1.
Kernel dropout_kernel(const TensorSpec& x, double p);
/// The same with one decision per element of `mask`, a shape that broadcasts to x's.
Kernel shaped_dropout_kernel(const TensorSpec& x, const Shape& mask, double p);
/// in: seed, modifier (uint32 scalar). out: uint32[2], a new seed; distinct modifiers yield independent seeds.
Kernel modify_seed_kernel();
/// The same with a constant modifier. in: seed.
Kernel modify_seed_kernel(uint32_t modifier);

}  // namespace pxl
