// Depthwise convolutions of small planes, and their gradients, with 16 channels in the lanes of vectors (direct.hpp).
// The rows of small planes would not fill vectors.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// Expected single-core time for one sample and one group, in ns; infinite if the shape is not supported.
double depthwise_outputs_ns(const Convolution& c);
double depthwise_data_grad_ns(const Convolution& c);
double depthwise_weights_grad_ns(const Convolution& c);

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. The shape must
/// be supported.
Kernel depthwise_convolution_kernel(const Convolution& c, bool bias = false);
Kernel depthwise_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel depthwise_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
