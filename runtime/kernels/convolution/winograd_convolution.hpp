// Convolutions over two axes and their gradients, by winograd.hpp, in float32: 3 x 3 kernels with stride 1, and kernels
// with 3 to 6 elements along each axis and stride 2. Partitions and the choice of the algorithm depend on the shapes
// and the instruction set only.
//
// An error is at most 8 rounding units (2^-23), relative to the largest sum of absolute terms; sums of products have
// about 1 unit. An infinity or NaN reaches all sixteen outputs of its tiles, including outputs whose windows do not
// contain it.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// Expected single-core time for one sample, in ns; infinite if the shape is not supported.
double winograd_outputs_ns(const Convolution& c);
double winograd_data_grad_ns(const Convolution& c);
double winograd_weights_grad_ns(const Convolution& c);

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. The shape must
/// be supported.
Kernel winograd_convolution_kernel(const Convolution& c, bool bias = false);
Kernel winograd_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel winograd_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
