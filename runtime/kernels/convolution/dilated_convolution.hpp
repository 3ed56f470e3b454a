// Dilated convolutions and their gradients, by Winograd's transforms (winograd_convolution.hpp). Outputs with equal
// position modulo the dilation read only inputs of that residue class: each class is a convolution without dilation.
// Inputs are split into classes, as samples of the batch, and results are interleaved. float32; partitions depend on
// the shapes only.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// Expected single-core time for one sample and one group, in ns. Infinite if the shape is not supported: strides must
/// be 1, and padding a multiple of the dilation.
double dilated_outputs_ns(const Convolution& c);
double dilated_data_grad_ns(const Convolution& c);
double dilated_weights_grad_ns(const Convolution& c);

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. The shape must
/// be supported.
Kernel dilated_convolution_kernel(const Convolution& c, bool bias = false);
Kernel dilated_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel dilated_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
