// Resampling: interpolation along axes (ONNX Resize) and ROI align. Both are linear in the data; their gradients apply
// the transposed weights.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "runtime/kernels/kernel.hpp"
#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Weights along one axis: every output element is a weighted sum of `taps` input elements.
struct AxisTaps {
  int64_t axis = 0, in = 1, out = 1, taps = 1;
  std::vector<int64_t> index = {};  ///< [out, taps], 0..in-1
  std::vector<double> weight = {};  ///< [out, taps]
};

enum class Interpolation : uint8_t { nearest, linear, cubic };
enum class NearestMode : uint8_t { round_prefer_floor, round_prefer_ceil, floor, ceil };
enum class Coordinates : uint8_t { half_pixel, pytorch_half_pixel, align_corners, asymmetric, tf_crop_and_resize };

/// Source: ONNX, operator Resize, with edges repeated; cubic has the coefficient -0.75. A scale that is the ratio of
/// the extents, rounded to float64 or float32, selects the nearest elements by the exact ratio.
AxisTaps axis_taps(int64_t axis, int64_t in, int64_t out, double scale, Interpolation mode, NearestMode nearest,
                   Coordinates coordinates);

/// in: x [shape]; out: x with the axes replaced, one after another.
Kernel interpolate_kernel(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes);
/// in: g, with the result's shape; out: dx [shape].
Kernel interpolate_grad_kernel(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes);

/// Throws a run-time Error unless `image`, the image of a region, is within `batch`.
void check_region(int64_t image, int64_t region, int64_t batch);

/// ROI align: averages over the cells of a grid on each region. Source: He et al., Mask R-CNN, section 3, without the
/// half-pixel shift.
struct RoiAlign {
  int64_t batch = 1, channels = 1, height = 1, width = 1;  ///< the data's extents
  int64_t rois = 0;
  std::array<int64_t, 2> out = {1, 1};
  double scale = 1;      ///< scales the regions' coordinates
  int64_t sampling = 0;  ///< samples per cell and axis; 0: the cell's pixels, rounded up
  DType index = DType::int32;
};
/// in: x [batch, channels, height, width], rois [rois, 4] (x1, y1, x2, y2), batch index [rois];
/// out: [rois, channels, out...]. A batch index out of range is a run-time Error.
Kernel roi_align_kernel(DType dtype, const RoiAlign& r);
/// in: g [rois, channels, out...], rois, batch index; out: dx.
Kernel roi_align_grad_kernel(DType dtype, const RoiAlign& r);

}  // namespace pxl
