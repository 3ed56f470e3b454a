// The ways to compute a convolution and its gradients in float32: the rows of ways.inc. Partitions, and the choice of a
// way, depend on the shapes and the instruction set only.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "runtime/kernels/convolution/convolution.hpp"

namespace pxl {

/// has_windows_of_planes: there are one or two spatial axes and no empty extent. is_planar: the kernel also has several
/// elements.
bool has_windows_of_planes(const Convolution& c);
bool is_planar(const Convolution& c);

/// How a way computes the outputs, or one of the gradients.
struct ConvolutionPass {
  /// Expected single-core time for one sample and one group, in ns; infinite if the shape is not supported.
  double (*ns)(const Convolution& c);
  /// The kernel for a supported shape; nullopt if a library refuses the shape. Weight gradients have no bias.
  std::optional<Kernel> (*make)(const Convolution& c, bool bias);
};

struct ConvolutionWay {
  std::string_view name;
  ConvolutionPass outputs, data_grad, weights_grad;
};
std::span<const ConvolutionWay> convolution_ways();

/// The kernel of the way with the shortest expected time. A way whose library refuses the shape gives way to the next.
Kernel fastest_kernel(const ConvolutionPass ConvolutionWay::*pass, const Convolution& c, bool bias = false);

// The functions of each row: counterparts of convolution_kernel, convolution_data_grad_kernel and
// convolution_weights_grad_kernel, with their times.
#define PXL_CONVOLUTION_WAY(name)                                                           \
  double name##_outputs_ns(const Convolution& c);                                           \
  double name##_data_grad_ns(const Convolution& c);                                         \
  double name##_weights_grad_ns(const Convolution& c);                                      \
  std::optional<Kernel> name##_convolution_kernel(const Convolution& c, bool bias = false); \
  std::optional<Kernel> name##_data_grad_kernel(const Convolution& c, bool bias = false);   \
  std::optional<Kernel> name##_weights_grad_kernel(const Convolution& c);
#include "runtime/kernels/convolution/ways.inc"
#undef PXL_CONVOLUTION_WAY

}  // namespace pxl
