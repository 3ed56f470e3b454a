// Interpolation along axes, and regions of interest.
#include "runtime/kernels/image/resample.hpp"

#include <fmt/format.h>

#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

namespace {

constexpr Param resize_scale_param{"scale_factor", ParamKind::numbers, none_default, "one an axis; none: 1"};
constexpr Param mode_param{"mode", ParamKind::string, of("nearest"), "nearest, linear or cubic"};
constexpr Param nearest_param{"nearest_mode", ParamKind::string, of("round_prefer_floor"),
                              "round_prefer_floor, round_prefer_ceil, floor or ceil"};
constexpr Param coordinate_param{
    "coordinate_transformation_mode", ParamKind::string, of("half_pixel"),
    "half_pixel, pytorch_half_pixel, align_corners, asymmetric or tf_crop_and_resize (of the whole image)"};
constexpr Param interpolate_params[] = {
    {"t", ParamKind::tensor}, resize_scale_param, mode_param, nearest_param, coordinate_param};
constexpr Param interpolate_grad_params[] = {
    {"g", ParamKind::tensor}, {"shape", ParamKind::shape}, resize_scale_param, mode_param, nearest_param,
    coordinate_param};
constexpr Param rois_param{"rois", ParamKind::tensor, no_default, "[R, 4]: x1, y1, x2, y2"};
constexpr Param images_param{"batch_index", ParamKind::index, no_default, "[R]: the image of each region"};
constexpr Param output_param{"output_size", ParamKind::shape, no_default, "[height, width] of a region's result"};
constexpr Param spatial_param{"spatial_scale", ParamKind::number, no_default, "from the regions' coordinates to t's"};
constexpr Param sampling_param{"sampling_ratio", ParamKind::integer, no_default,
                               "samples per cell and axis; 0: one per pixel"};
constexpr Param roi_params[] = {{"t", ParamKind::tensor, no_default, "[N, C, H, W]"},
                                rois_param,
                                images_param,
                                output_param,
                                spatial_param,
                                sampling_param};
constexpr Param roi_grad_params[] = {
    {"g", ParamKind::tensor},   rois_param, images_param, output_param, spatial_param, sampling_param,
    {"shape", ParamKind::shape}};

template <class E, size_t n>
E choice(const OpContext& s, std::string_view param, const std::string_view (&names)[n]) {
  const std::string& given = s.string(param);
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    if (given == names[i]) return static_cast<E>(i);
    all += fmt::format("{}{}", i ? ", " : "", names[i]);
  }
  refuse(s, fmt::format("{} must be one of {}, not {}", param, all, given));
}

// The resampled axes.
std::vector<AxisTaps> resolve_axes(const OpContext& s, const Shape& shape) {
  static constexpr std::string_view modes[] = {"nearest", "linear", "cubic"};
  static constexpr std::string_view nearest[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  static constexpr std::string_view coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric",
                                                     "tf_crop_and_resize"};
  const auto mode = choice<Interpolation>(s, "mode", modes);
  const auto rounding = choice<NearestMode>(s, "nearest_mode", nearest);
  const auto place = choice<Coordinates>(s, "coordinate_transformation_mode", coordinates);
  std::vector<double> scales(shape.size(), 1.0);
  if (!s.is_none("scale_factor")) scales = std::get<std::vector<double>>(s.attr("scale_factor"));
  if (scales.size() != shape.size())
    refuse(s, fmt::format("scale_factor has {} values for {} axes", scales.size(), shape.size()), codes::shape);
  std::vector<AxisTaps> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (!(scales[i] > 0) || !std::isfinite(scales[i]))
      refuse(s, fmt::format("scale_factor must be positive, got {} for axis {}", scales[i], i), codes::shape);
    if (scales[i] == 1.0) continue;
    const double extent = std::floor(static_cast<double>(shape[i]) * scales[i]);
    if (extent < 1) refuse(s, fmt::format("axis {} of extent {} would have no elements", i, shape[i]), codes::shape);
    if (extent > 1e9) refuse(s, fmt::format("axis {} would have {} elements", i, extent), codes::shape);
    axes.push_back(
        axis_taps(static_cast<int64_t>(i), shape[i], static_cast<int64_t>(extent), scales[i], mode, rounding, place));
  }
  return axes;
}

TensorSpec resampled_spec(const OpContext& s, Shape shape, DType dtype) {
  for (const AxisTaps& a : resolve_axes(s, Shape(shape))) shape[static_cast<size_t>(a.axis)] = a.out;
  prefixed(s, [&] { return element_count(shape); });
  return {shape, dtype, {}};
}

RoiAlign resolve_roi(const OpContext& s, const Shape& data, DType dtype) {
  if (data.size() != 4)
    refuse(s, fmt::format("the data must have shape [N, C, H, W], not {}", bracket_text(data)), codes::shape);
  if (s.input(1).shape.size() != 2 || s.input(1).shape[1] != 4)
    refuse(s, fmt::format("{} must have shape [R, 4], not {}", s.label(1), bracket_text(s.input(1).shape)),
           codes::shape);
  if (s.input(1).dtype != dtype)
    refuse(s, fmt::format("{} must be {}, not {}", s.label(1), name(dtype), name(s.input(1).dtype)), codes::dtype);
  check_integers(s, 2);
  check_shape(s, 2, {s.input(1).shape[0]});
  const std::vector<int64_t> out = s.integers("output_size");
  if (out.size() != 2 || out[0] < 1 || out[1] < 1 || out[0] > 1 << 20 || out[1] > 1 << 20)
    refuse(s, fmt::format("output_size must be a height and a width, got {}", bracket_text(out)));
  const int64_t sampling = s.integer("sampling_ratio");
  if (sampling > 1 << 12) refuse(s, fmt::format("sampling_ratio must be below 4097, got {}", sampling));
  if (data[2] < 1 || data[3] < 1) refuse(s, "the data have no elements");
  return {data[0],
          data[1],
          data[2],
          data[3],
          s.input(1).shape[0],
          {out[0], out[1]},
          s.number("spatial_scale"),
          std::max<int64_t>(0, sampling),
          s.input(2).dtype};
}

constexpr OpRow resample_table[] = {
    {.name = "interpolate",
     .path = "ops.interpolate",
     .schedule = "Resize",
     .output = "interpolate_out",
     .doc = "Interpolates along axes by scale factors: extents become floor(extent * scale). Edges are repeated; cubic "
            "uses the coefficient -0.75.",
     .example = "interpolate(array([[[1.0, 2.0, 4.0]]]), [1, 1, 2], \"linear\")",
     .params = interpolate_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           return std::vector<TensorSpec>{resampled_spec(s, s.input(0).shape, s.input(0).dtype)};
         },
     .definition = reference::interpolate,
     .tolerance = &tolerance::weighted_sum,
     .kernel =
         [](const OpContext& s) {
           return interpolate_kernel(s.input(0).dtype, s.input(0).shape, resolve_axes(s, s.input(0).shape));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("interpolate_grad", {c.dy()},
                                    {{"shape", c.in_spec(0).shape},
                                     {"scale_factor", s.attr("scale_factor")},
                                     {"mode", s.attr("mode")},
                                     {"nearest_mode", s.attr("nearest_mode")},
                                     {"coordinate_transformation_mode", s.attr("coordinate_transformation_mode")}}));
         },
     .onnx = "Resize",
     .tiles = tile_gather},
    {.name = "interpolate_grad",
     .schedule = "ResizeGrad",
     .output = "gradient",
     .doc = "The gradient of interpolate.",
     .params = interpolate_grad_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           check_shape(s, 0, resampled_spec(s, s.integers("shape"), s.input(0).dtype).shape);
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .definition = reference::interpolate_grad,
     .tolerance = &tolerance::weighted_sum,
     .kernel =
         [](const OpContext& s) {
           return interpolate_grad_kernel(s.input(0).dtype, s.integers("shape"), resolve_axes(s, s.integers("shape")));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("interpolate", {c.dy()},
                                    {{"scale_factor", s.attr("scale_factor")},
                                     {"mode", s.attr("mode")},
                                     {"nearest_mode", s.attr("nearest_mode")},
                                     {"coordinate_transformation_mode", s.attr("coordinate_transformation_mode")}}));
         },
     .tiles = tile_scatter},
    {.name = "roi_align",
     .path = "ops.roi_align",
     .schedule = "RoiAlign",
     .output = "roi_align_out",
     .doc = "Region-of-interest alignment: averages over the cells of a grid on each region, without the half-pixel "
            "shift. Only t has a gradient.",
     .example = "roi_align(ones([1, 1, 4, 4]), array([[0.0, 0.0, 2.0, 2.0]]), array([0]), [2, 2], 1.0, 2)",
     .params = roi_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           const RoiAlign r = resolve_roi(s, s.input(0).shape, s.input(0).dtype);
           const Shape shape{r.rois, r.channels, r.out[0], r.out[1]};
           prefixed(s, [&] { return element_count(shape); });
           return std::vector<TensorSpec>{{shape, s.input(0).dtype, {}}};
         },
     .definition = reference::roi_align,
     .tolerance = &tolerance::padded_sum,
     .kernel =
         [](const OpContext& s) {
           return roi_align_kernel(s.input(0).dtype, resolve_roi(s, s.input(0).shape, s.input(0).dtype));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("roi_align_grad", {c.dy(), c.in(1), c.in(2)},
                                    {{"output_size", s.attr("output_size")},
                                     {"spatial_scale", s.attr("spatial_scale")},
                                     {"sampling_ratio", s.attr("sampling_ratio")},
                                     {"shape", c.in_spec(0).shape}}));
         },
     .onnx = "RoiAlign",
     .checks_indices = checks_values,
     .tiles = tile_gather},
    {.name = "roi_align_grad",
     .schedule = "RoiAlignGrad",
     .output = "gradient",
     .doc = "The gradient of roi_align with respect to the data.",
     .params = roi_grad_params,
     .infer =
         [](const OpContext& s) {
           check_floating(s, 0);
           const RoiAlign r = resolve_roi(s, s.integers("shape"), s.input(0).dtype);
           check_shape(s, 0, {r.rois, r.channels, r.out[0], r.out[1]});
           return std::vector<TensorSpec>{{s.integers("shape"), s.input(0).dtype, {}}};
         },
     .definition = reference::roi_align_grad,
     .tolerance = &tolerance::padded_sum,
     .kernel =
         [](const OpContext& s) {
           return roi_align_grad_kernel(s.input(0).dtype, resolve_roi(s, s.integers("shape"), s.input(0).dtype));
         },
     .gradient =
         [](GradContext& c) {
           if (!c.wants(0)) return;
           const OpContext s = c.site();
           c.set(0, c.builder().one("roi_align", {c.dy(), c.in(1), c.in(2)},
                                    {{"output_size", s.attr("output_size")},
                                     {"spatial_scale", s.attr("spatial_scale")},
                                     {"sampling_ratio", s.attr("sampling_ratio")}}));
         },
     .checks_indices = checks_values,
     .tiles = tile_scatter},
};
static_assert(all_complete(resample_table));

}  // namespace

std::span<const OpRow> resample_rows() { return resample_table; }

}  // namespace pxl
