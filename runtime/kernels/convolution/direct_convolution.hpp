// Convolutions and their gradients by direct.hpp, over one or two spatial axes in float32. Partitions and the choice of
// the algorithm depend on the shapes and the instruction set only.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// has_windows_of_planes: there are one or two spatial axes and no empty extent. is_planar: the kernel also has several
/// elements.
bool has_windows_of_planes(const Convolution& c);
bool is_planar(const Convolution& c);

/// Expected single-core time for one sample and one group, in ns; infinite if the shape is not supported.
double direct_outputs_ns(const Convolution& c);
double direct_data_grad_ns(const Convolution& c);
double direct_weights_grad_ns(const Convolution& c);
/// The same for im2col and GEMM, which compute any of the three.
double im2col_ns(const Convolution& c);

/// Counterparts of convolution_kernel, convolution_data_grad_kernel and convolution_weights_grad_kernel. All extents
/// are positive.
Kernel direct_convolution_kernel(const Convolution& c, bool bias = false);
Kernel direct_data_grad_kernel(const Convolution& c, bool bias = false);
Kernel direct_weights_grad_kernel(const Convolution& c);

}  // namespace pxl
