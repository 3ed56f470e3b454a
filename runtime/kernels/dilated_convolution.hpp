// Convolutions whose kernels are dilated, and their gradients, by Winograd's transforms (winograd_convolution.hpp): the
// outputs whose places have the same remainders by the dilation need only inputs that have these too, so that they are
// a convolution without dilation of their own. Tensors are taken apart by these remainders, which become samples, and
// put together again. float32; partitions depend on the shapes only.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Expected time of one sample of one group on one core, in ns; infinite where the shape is not supported: strides must
/// be 1, and padding a multiple of the dilation.
double dilated_outputs_ns(const Convolution& c);
double dilated_data_grad_ns(const Convolution& c);
double dilated_weights_grad_ns(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel, of supported shapes.
Kernel dilated_convolution_kernel(const Convolution& c, bool bias = false);
Kernel dilated_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel dilated_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
