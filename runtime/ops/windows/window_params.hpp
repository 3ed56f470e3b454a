// Resolves the parameters of sliding windows, for convolution and pooling. Output sizes and padding follow ONNX; with
// ceil_mode, as in PyTorch, no window starts in the padding after the input.
#pragma once

#include "runtime/kernels/convolution/window_axis.hpp"
#include "runtime/kernels/image/pooling.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Names of a row's parameters; empty if it has none of that kind.
struct WindowParams {
  std::string_view stride = "stride", padding = "padding", dilation = "dilation", in_dilation = {}, pad_type = {},
                   ceil_mode = {};
};

/// Spatial axes of `t` [N, C, spatial...]; throws for ranks other than 3 to 5.
Shape spatial_shape(const OpContext& s, size_t slot);
/// One value per spatial axis: none means `if_none`, a single value applies to all. Throws for values outside
/// low..2^31-1.
std::vector<int64_t> per_axis(const OpContext& s, std::string_view param, size_t rank, int64_t if_none, int64_t low);
/// Paddings before all axes, then after: none means zeros; one value applies to all, one per axis to both sides.
std::vector<int64_t> paddings(const OpContext& s, std::string_view param, size_t rank);

/// The windows over `spatial`. Throws if a window does not fit.
std::vector<WindowAxis> sliding_windows(const OpContext& s, const Shape& spatial, const Shape& kernel,
                                        const WindowParams& params);
/// The windows as kernels take them: the last axes of three.
WindowAxes window_axes(const std::vector<WindowAxis>& axes);

/// Padding of the resolved windows, before then after (only as much after as the windows need).
std::vector<int64_t> resolved_padding(const std::vector<WindowAxis>& axes);

/// The windows of max_pool, average_pool and their gradients, over data of this shape.
Pool resolve_pool(const OpContext& s, const Shape& data);

}  // namespace pxl
