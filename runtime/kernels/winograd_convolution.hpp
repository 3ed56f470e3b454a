// Convolutions of 3 x 3 kernels and stride 1, and of kernels of 3 to 6 elements along each axis and stride 2, over two
// axes, and their gradients, by winograd.hpp, in float32. Partitions and the choice of the algorithm depend on the
// shapes and the instruction set only.
//
// Errors are at most 8 units of rounding (2^-23) of the largest sum of absolute values of terms, of sums of products 1
// or so. An infinity or NaN reaches all sixteen outputs of its tiles, also those whose windows are beside it.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Expected time of one sample on one core, in ns; infinite where the shape is not supported.
double winograd_outputs_ns(const Convolution& c);
double winograd_data_grad_ns(const Convolution& c);
double winograd_weights_grad_ns(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel, of supported shapes.
Kernel winograd_convolution_kernel(const Convolution& c, bool bias = false);
Kernel winograd_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel winograd_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
