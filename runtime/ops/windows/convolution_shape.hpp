// Resolves a convolution from the specs and attributes of its op: windows, channels, spec of the result.
#pragma once

#include "runtime/kernels/convolution/convolution.hpp"
#include "runtime/op/op.hpp"
#include "runtime/ops/windows/window_params.hpp"

namespace pxl {

/// The convolution, and its windows as given by the attributes.
struct ResolvedConvolution {
  Convolution c;
  std::vector<WindowAxis> axes;
};

/// Resolve conv, conv_data_grad, conv_weights_grad and conv_transpose, rows with log2_scale, whose operands are float8,
/// and conv_integer. Throw Error for invalid operands.
ResolvedConvolution resolve_conv(const OpContext& s);
ResolvedConvolution resolve_data_grad(const OpContext& s);
ResolvedConvolution resolve_weights_grad(const OpContext& s);
ResolvedConvolution resolve_transpose(const OpContext& s);

std::vector<TensorSpec> infer_conv(const OpContext& s);
int64_t convolution_flops(const Convolution& c);
/// Spec of a convolution's data, which its data gradient and a transposed convolution return.
std::vector<TensorSpec> data_spec(const OpContext& s, const ResolvedConvolution& r);

/// The axes after batch and channels.
inline Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

}  // namespace pxl
