// Interpolation along axes, sampling of images at positions, and regions of interest.
#include "runtime/kernels/image/resample.hpp"

#include <fmt/format.h>

#include <cmath>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/op/definitions.hpp"
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

constexpr Param grid_params[] = {
    {"t", ParamKind::tensor, no_default, "[N, C, H, W]"},
    {"grid", ParamKind::tensor, no_default, "[N, H_out, W_out, 2]: column and row, from -1 to 1 across the image"},
    {"mode", ParamKind::string, of("bilinear"), "bilinear, nearest or bicubic"},
    {"padding_mode", ParamKind::string, of("zeros"), "outside the image: zeros, border or reflection"},
    {"align_corners", ParamKind::boolean, of(false), "-1 and 1 are centres of the outermost pixels, not their edges"}};

std::vector<TensorSpec> infer_grid_sample(const OpContext& site) {
  check_floating(site, 0);
  check_one_dtype(site);
  const Shape &t = site.input(0).shape, &grid = site.input(1).shape;
  if (t.size() != 4 || grid.size() != 4)
    refuse(site, "expected images [N, C, H, W] and a grid [N, H, W, 2]", codes::shape);
  if (grid[3] != 2 || grid[0] != t[0]) refuse(site, "expected a grid [N, H, W, 2] for each image", codes::shape);
  if (t[2] == 0 || t[3] == 0) refuse(site, "the images are empty", codes::shape);
  choice<int>(site, "mode", {"bilinear", "nearest", "bicubic"});
  choice<int>(site, "padding_mode", {"zeros", "border", "reflection"});
  return {{{t[0], t[1], grid[1], grid[2]}, site.input(0).dtype, {}}};
}

/// The positions along one spatial axis, as a gradient needs them. All tensors have the shape [N, P] of the positions.
struct SampledAxis {
  Expr slope;                       ///< derivative of the position in pixels with respect to the grid
  std::vector<Expr> indices;        ///< of the pixels that a position reads, inside the image
  std::vector<Expr> weights;        ///< of these pixels; zero for a pixel outside the image
  std::vector<Expr> weight_slopes;  ///< derivatives of the weights with respect to the position; empty for "nearest"
};

/// Positions along an axis with `extent` pixels.
class Sampler {
 public:
  Sampler(const OpContext& s, int64_t extent)
      : mode_(s.string("mode")),
        padding_(s.string("padding_mode")),
        align_(s.boolean("align_corners")),
        extent_(static_cast<double>(extent)) {}

  SampledAxis axis(const Expr& grid) const {
    const double per_unit = align_ ? (extent_ - 1) / 2 : extent_ / 2;
    Expr position = (grid + 1.0) * per_unit;
    if (!align_) position = position - 0.5;
    SampledAxis axis{broadcast_to(position.builder().scalar(per_unit, grid.dtype()), grid.shape()), {}, {}, {}};
    if (mode_ != "bicubic") {
      const auto [inside, factor] = moved_inside(position);
      if (factor) axis.slope = axis.slope * factor;
      position = inside;
    }
    const Expr first = of_op(mode_ == "nearest" ? "round" : "floor", position);
    const Expr t = position - first;
    if (mode_ == "nearest") {
      add(axis, first, broadcast_to(t.builder().scalar(1, t.dtype()), t.shape()), {});
    } else if (mode_ == "bilinear") {
      const Expr one = broadcast_to(t.builder().scalar(1, t.dtype()), t.shape());
      add(axis, first, 1.0 - t, -one);
      add(axis, first + 1.0, t, one);
    } else {
      add_far(axis, first - 1.0, t + 1.0, 1);
      add_near(axis, first, t, 1);
      add_near(axis, first + 1.0, 1.0 - t, -1);
      add_far(axis, first + 2.0, 2.0 - t, -1);
    }
    return axis;
  }

 private:
  static constexpr double a = -0.75;  // of the standard, as in the definition

  /// `slope`: empty if the weight is constant.
  void add(SampledAxis& axis, const Expr& pixel, const Expr& weight, const Expr& slope) const {
    const Expr read = mode_ == "bicubic" ? moved_inside(pixel).first : pixel;
    OpBuilder& at = read.builder();
    const Expr low = at.scalar(0, read.dtype()), high = at.scalar(extent_ - 1, read.dtype());
    const Expr present =
        cast(at.one("logical_and", {at.one("greater_equal", {read, low}), at.one("less_equal", {read, high})}),
             read.dtype());
    // A position that is no number gets the index 0.
    const Expr kept = at.one(
        "select", {at.one("greater_equal", {read, low}), at.one("minimum", {std::vector<Expr>{read, high}}), low});
    axis.indices.push_back(cast(kept, DType::int32));
    axis.weights.push_back(weight * present);
    if (slope) axis.weight_slopes.push_back(slope * present);
  }
  /// A pixel at the distance d, from 0 to 1. `sign`: whether d grows with the position.
  void add_near(SampledAxis& axis, const Expr& pixel, const Expr& d, double sign) const {
    add(axis, pixel, ((d * (a + 2) - (a + 3)) * d) * d + 1.0, (d * (3 * (a + 2)) - 2 * (a + 3)) * d * sign);
  }
  /// A pixel at the distance d, from 1 to 2.
  void add_far(SampledAxis& axis, const Expr& pixel, const Expr& d, double sign) const {
    add(axis, pixel, ((d * a - 5 * a) * d + 8 * a) * d - 4 * a, ((d * (3 * a) - 10 * a) * d + 8 * a) * sign);
  }

  /// The position that the padding uses for a position outside, and its derivative; an empty Expr if that is 1.
  std::pair<Expr, Expr> moved_inside(const Expr& v) const {
    if (padding_ == "zeros") return {v, Expr()};
    OpBuilder& at = v.builder();
    const auto number = [&](double x) { return at.scalar(x, v.dtype()); };
    Expr moved = v, factor;
    if (padding_ == "reflection") {
      const double low = align_ ? 0 : -0.5, span = align_ ? extent_ - 1 : extent_;
      if (span <= 0) return {v * 0.0, v * 0.0};
      const Expr beyond = at.one("fmod", {of_op("abs", v - low), number(2 * span)});
      const Expr returns = at.one("greater", {beyond, number(span)});
      moved = at.one("select", {returns, 2 * span - beyond, beyond}) + low;
      const Expr sign = of_op("sign", v - low);
      factor = at.one("select", {returns, -sign, sign});
    }
    const Expr within = cast(
        at.one("logical_and", {at.one("greater", {moved, number(0)}), at.one("less", {moved, number(extent_ - 1)})}),
        v.dtype());
    const Expr above = at.one("maximum", {std::vector<Expr>{moved, number(0)}});
    return {at.one("minimum", {std::vector<Expr>{above, number(extent_ - 1)}}), factor ? factor * within : within};
  }

  std::string mode_, padding_;
  bool align_;
  double extent_;
};

void grid_sample_gradient(GradContext& c) {
  OpBuilder& at = c.builder();
  const DType dtype = c.in_spec(0).dtype, exact = dtype == DType::float64 ? dtype : DType::float32;
  const Shape &in = c.in_spec(0).shape, &grid_shape = c.in_spec(1).shape;
  const int64_t images = in[0], channels = in[1], height = in[2], width = in[3], points = grid_shape[1] * grid_shape[2];
  const Expr grid = cast(reshape(c.in(1), {images, points, 2}), exact);
  const auto coordinate = [&](int64_t i) { return reshape(narrow(grid, 2, i, 1), {images, points}); };
  const SampledAxis x = Sampler(c.site(), width).axis(coordinate(0)), y = Sampler(c.site(), height).axis(coordinate(1));
  const Expr dy = cast(reshape(c.dy(), {images, channels, points}), exact);
  const Expr pixels = c.wants(1) ? cast(reshape(c.in(0), {images, channels, height * width}), exact) : Expr();
  Expr of_images, of_x, of_y;
  const auto accumulate = [](Expr& sum, const Expr& part) { sum = sum ? sum + part : part; };
  for (size_t j = 0; j < y.indices.size(); ++j) {
    for (size_t k = 0; k < x.indices.size(); ++k) {
      const Expr index =
          broadcast_to(reshape(y.indices[j] * static_cast<double>(width) + x.indices[k], {images, 1, points}),
                       {images, channels, points});
      if (c.wants(0))
        accumulate(
            of_images,
            at.one("scatter_reduce",
                   {dy * reshape(y.weights[j] * x.weights[k], {images, 1, points}), index, Attr(std::string("sum"))},
                   {{"axis", int64_t{2}}, {"axis_size", height * width}, {"enable_index_broadcast", false}}));
      if (!c.wants(1) || x.weight_slopes.empty()) continue;
      const Expr change = sum(dy * at.one("take_along", {pixels, index}, {{"axis", int64_t{2}}}), {1}, false);
      accumulate(of_x, change * y.weights[j] * x.weight_slopes[k]);
      accumulate(of_y, change * y.weight_slopes[j] * x.weights[k]);
    }
  }
  if (c.wants(0)) c.set(0, cast(reshape(of_images, in), dtype));
  if (!of_x) return set_zero(c, 1);
  const Expr both = at.one("stack", {std::vector<Expr>{of_x * x.slope, of_y * y.slope}}, {{"axis", int64_t{-1}}});
  c.set(1, cast(reshape(both, grid_shape), dtype));
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
    {.name = "grid_sample",
     .path = "ops.grid_sample",
     .schedule = "GridSample",
     .output = "grid_sample_out",
     .doc = "Images read at the positions of a grid, with interpolation.",
     .example = "grid_sample(array([[[[1.0, 2.0]]]]), array([[[[0.0, 0.0]]]]))",
     .params = grid_params,
     .infer = infer_grid_sample,
     .definition = reference::grid_sample,
     .gradient = grid_sample_gradient,
     .onnx = "GridSample",
     .tiles = tile_gather},
};
static_assert(all_complete(resample_table));

}  // namespace

std::span<const OpRow> resample_rows() { return resample_table; }

}  // namespace pxl
