// Convolutions over one or two axes, and their gradients, as matrix products of windows with adjacent channels, in
// float32. Data gradients need strides of 1. Plane rows are transposed, with their padding, into elements of adjacent
// channels. For each row of taps, the packed product (packed.hpp) reads its left operand there, without im2col. The
// sums are transposed back. The algorithm suits strides, dilations and groups with many channels. Partitions and the
// choice of the algorithm depend on the shapes and the instruction set only.
//
// Order of summation: rows of taps, then taps, then channels, with one fused multiply-add per term. Weight gradients
// sum windows in partial results, which are then added.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// Expected single-core time for one sample and one group, in ns; infinite if the shape is not supported.
double channels_last_outputs_ns(const Convolution& c);
double channels_last_data_grad_ns(const Convolution& c);
double channels_last_weights_grad_ns(const Convolution& c);

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. The shape must
/// be supported.
Kernel channels_last_convolution_kernel(const Convolution& c, bool bias = false);
Kernel channels_last_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel channels_last_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
