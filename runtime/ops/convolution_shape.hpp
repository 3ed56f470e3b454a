// What a convolution is, from the specs and attributes of its op: windows, channels, the result's spec.
#pragma once

#include "runtime/kernels/convolution.hpp"
#include "runtime/op/op.hpp"
#include "runtime/ops/window.hpp"

namespace pxl {

/// The convolution, and its windows as the attributes say them.
struct ResolvedConvolution {
  Convolution c;
  std::vector<WindowAxis> axes;
};

/// Of conv, conv_data_grad, conv_weights_grad and conv_transpose; of rows with a log2_scale, whose operands are float8,
/// too. They refuse what does not fit.
ResolvedConvolution resolve_conv(const OpContext& s);
ResolvedConvolution resolve_data_grad(const OpContext& s);
ResolvedConvolution resolve_weights_grad(const OpContext& s);
ResolvedConvolution resolve_transpose(const OpContext& s);

std::vector<TensorSpec> infer_conv(const OpContext& s);
/// The spec of a convolution's data: what its data gradient and a transposed convolution give.
std::vector<TensorSpec> data_spec(const OpContext& s, const ResolvedConvolution& r);

/// Behind batch and channels.
inline Shape spatial(const Shape& shape) { return Shape(shape.begin() + 2, shape.end()); }

}  // namespace pxl
