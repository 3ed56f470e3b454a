// Convolutions over one or two axes, gradients of their data where strides are 1, and of their weights, as matrix
// products of windows whose channels are side by side, in float32: rows of planes are transposed, with their padding,
// into elements of channels; the left operand of the packed product (packed.hpp) of each row of taps is read from
// there, without im2col, and the sums of windows are transposed back. For strides, dilations and groups of many
// channels. Partitions and the choice of the algorithm depend on the shapes and the instruction set only.
//
// Order of summation: rows of taps, then taps, then channels, with one fused multiply-add per term; of weights, windows
// in partial results that are added up.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Expected time of one sample of one group on one core, in ns; infinite where the shape is not supported.
double channels_last_outputs_ns(const Convolution& c);
double channels_last_data_grad_ns(const Convolution& c);
double channels_last_weights_grad_ns(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel, of supported shapes.
Kernel channels_last_convolution_kernel(const Convolution& c, bool bias = false);
Kernel channels_last_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel channels_last_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
