// The parameters of sliding windows, resolved: what convolutions and pools share. Output sizes and padding follow
// ONNX; with ceil_mode, as in PyTorch, no window begins in the padding behind the input.
#pragma once

#include "runtime/kernels/pooling.hpp"
#include "runtime/kernels/window_axis.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Names of the parameters of a row; empty where it has none of that kind.
struct WindowParams {
  std::string_view stride = "stride", padding = "padding", dilation = "dilation", in_dilation = {}, pad_type = {},
                   ceil_mode = {};
};

/// Spatial axes of `t` [N, C, spatial...]; refuses other ranks than 3 to 5.
Shape spatial_shape(const OpContext& s, size_t slot);
/// One value for each spatial axis: none gives `if_none`, a single value counts for all. Refuses values outside
/// low..2^31-1.
std::vector<int64_t> per_axis(const OpContext& s, std::string_view param, size_t rank, int64_t if_none, int64_t low);
/// Begins, then ends: none gives zeros; one value counts for all, one an axis for both sides.
std::vector<int64_t> paddings(const OpContext& s, std::string_view param, size_t rank);

/// The windows over `spatial`. Refuses a window that does not fit.
std::vector<WindowAxis> sliding_windows(const OpContext& s, const Shape& spatial, const Shape& kernel,
                                        const WindowParams& params);
/// The same for kernels: the last axes of three.
WindowAxes window_axes(const std::vector<WindowAxis>& axes);

/// Padding of the resolved windows: begins, then ends (the ends that make the windows fit exactly, where more is
/// given).
std::vector<int64_t> resolved_padding(const std::vector<WindowAxis>& axes);

/// The windows of max_pool, average_pool and their gradients over data of this shape.
Pool resolve_pool(const OpContext& s, const Shape& data);

}  // namespace pxl
