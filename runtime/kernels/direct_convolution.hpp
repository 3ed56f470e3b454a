// Convolutions and their gradients by direct.hpp, for one or two spatial axes in float32. Partitions and the choice of
// the algorithm depend on the shapes and the instruction set only.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Whether a cost model expects direct computation to take less time than im2col and GEMM.
bool prefers_direct_outputs(const Convolution& c);
bool prefers_direct_data_grad(const Convolution& c);
bool prefers_direct_weights_grad(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. All extents are positive.
Kernel direct_convolution_kernel(const Convolution& c);
Kernel direct_data_grad_kernel(const Convolution& c);
Kernel direct_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
