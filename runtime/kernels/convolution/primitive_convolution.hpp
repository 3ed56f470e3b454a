// Convolutions and their gradients by oneDNN's primitives, which compute on blocks of channels, for one or two spatial
// axes in float32. Operands are copied to the primitives' layouts, and results are copied back. Partitions depend on
// the shapes and the instruction set only.
#pragma once

#include <optional>

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// Whether primitives may be used: the build has oneDNN, and libraries are to compute products.
bool has_convolution_primitives();

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel in float32.
/// nullopt if there are no primitives, if oneDNN has no vector code for the shape, or if the cost model expects more
/// than `ns`: the single-core time of another algorithm for one sample.
std::optional<Kernel> primitive_convolution_kernel(const Convolution& c, double ns, bool bias = false);
std::optional<Kernel> primitive_data_grad_kernel(const Convolution& c, double ns, bool bias = false);
std::optional<Kernel> primitive_weights_grad_kernel(const Convolution& c, double ns);

}  // namespace pxl
