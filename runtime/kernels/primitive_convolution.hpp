// Convolutions and their gradients by oneDNN's primitives, which compute on blocks of channels, for one or two spatial
// axes in float32. Operands are brought into their layouts and back. Partitions depend on the shapes and the
// instruction set only.
#pragma once

#include <optional>

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Whether primitives may be used at all: the build has oneDNN, and libraries are to compute products.
bool has_convolution_primitives();

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel in float32. None where
/// there are none, where oneDNN has no vector code for the shape, or where a cost
/// model expects more than `ns`: the time of another way for one sample on one core.
std::optional<Kernel> primitive_convolution_kernel(const Convolution& c, double ns, bool bias = false);
std::optional<Kernel> primitive_data_grad_kernel(const Convolution& c, double ns, bool bias = false);
std::optional<Kernel> primitive_weights_grad_kernel(const Convolution& c, double ns);

}  // namespace pxl
