// Depthwise convolutions of small planes, and their gradients, with 16 channels in the lanes of vectors (direct.hpp):
// rows of small planes do not fill vectors.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Expected time of one sample of one group on one core, in ns; infinite where the shape is not supported.
double depthwise_outputs_ns(const Convolution& c);
double depthwise_data_grad_ns(const Convolution& c);
double depthwise_weights_grad_ns(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel, for supported shapes.
Kernel depthwise_convolution_kernel(const Convolution& c, bool bias = false);
Kernel depthwise_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel depthwise_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
