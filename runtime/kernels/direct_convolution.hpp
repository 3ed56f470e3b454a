// Convolutions and their gradients by direct.hpp, for one or two spatial axes in float32. Partitions and the choice of
// the algorithm depend on the shapes and the instruction set only.
#pragma once

#include "runtime/kernels/convolution.hpp"

namespace pxl {

/// Whether it has one or two spatial axes and no empty extent; and whether it has a kernel of several elements too.
bool has_windows_of_planes(const Convolution& c);
bool is_planar(const Convolution& c);

/// Expected time of one sample of one group on one core, in ns; infinite where the shape is not supported.
double direct_outputs_ns(const Convolution& c);
double direct_data_grad_ns(const Convolution& c);
double direct_weights_grad_ns(const Convolution& c);
/// The same of im2col and GEMM, for any of the three.
double im2col_ns(const Convolution& c);

/// As convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. All extents are positive.
Kernel direct_convolution_kernel(const Convolution& c, bool bias = false);
Kernel direct_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel direct_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
