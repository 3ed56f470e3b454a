// Reading images between their elements. Sources: ONNX, operator Resize; He et al., Mask R-CNN, section 3.
#include "runtime/kernels/image/resample.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// A place of the result divided by the scale. If the scale is the ratio of the extents, rounded to float64 or float32,
// the ratio itself divides. Rounding then moves no place across the middle or the border of an element.
double divided(double place, double in, double out, double scale, bool nearest) {
  const bool is_ratio = scale == out / in || scale == static_cast<double>(static_cast<float>(out / in));
  return nearest && is_ratio ? place * in / out : place / scale;
}

// The old position that corresponds to element i of a resampled axis.
double old_place(const std::string& mode, double i, double in, double out, double scale, bool nearest) {
  if (mode == "half_pixel") return divided(i + 0.5, in, out, scale, nearest) - 0.5;
  if (mode == "pytorch_half_pixel") return out > 1 ? divided(i + 0.5, in, out, scale, nearest) - 0.5 : 0;
  if (mode == "align_corners") return out > 1 ? i * (in - 1) / (out - 1) : 0;
  if (mode == "asymmetric") return divided(i, in, out, scale, nearest);
  return out > 1 ? i * (in - 1) / (out - 1) : 0.5 * (in - 1);  // tf_crop_and_resize, of the whole image
}

double nearest(const std::string& mode, double x) {
  if (mode == "round_prefer_floor") return std::ceil(x - 0.5);
  if (mode == "round_prefer_ceil") return std::floor(x + 0.5);
  return mode == "floor" ? std::floor(x) : std::ceil(x);
}

// How much an element at a distance counts.
double weight(const std::string& mode, double distance) {
  const double d = std::abs(distance);
  if (mode == "linear") return std::max(0.0, 1 - d);
  constexpr double a = -0.75;  // cubic
  if (d <= 1) return (a + 2) * d * d * d - (a + 3) * d * d + 1;
  return d < 2 ? a * d * d * d - 5 * a * d * d + 8 * a * d - 4 * a : 0;
}

// The matrix [out, in] by which an axis is multiplied. Edges are repeated.
Reals matrix(const ReferenceContext& c, int64_t in, int64_t out, double scale) {
  Reals m = xt::zeros<double>({static_cast<size_t>(out), static_cast<size_t>(in)});
  const std::string& mode = c.string("mode");
  for (int64_t i = 0; i < out; ++i) {
    const double x = old_place(c.string("coordinate_transformation_mode"), static_cast<double>(i),
                               static_cast<double>(in), static_cast<double>(out), scale, mode == "nearest");
    const auto add = [&](double place, double w) {
      m(i, static_cast<size_t>(std::clamp(place, 0.0, static_cast<double>(in - 1)))) += w;
    };
    if (mode == "nearest")
      add(nearest(c.string("nearest_mode"), x), 1);
    else
      for (int k = -1; k <= 2; ++k) add(std::floor(x) + k, weight(mode, x - std::floor(x) - k));
  }
  return m;
}

// x with each axis that changes multiplied by its matrix, or by that transposed.
Reals resampled(const ReferenceContext& c, Reals x, const Shape& from, const Shape& to, bool transposed) {
  std::vector<double> scales(from.size(), 1.0);
  if (!c.is_none("scale_factor")) scales = std::get<std::vector<double>>(c.site().attr("scale_factor"));
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (scales[axis] == 1.0) continue;
    Reals m = matrix(c, from[axis], to[axis], scales[axis]);
    if (transposed) m = Reals(xt::transpose(m));
    Shape shape = shape_of(x);
    const int64_t extent = std::exchange(shape[axis], static_cast<int64_t>(m.shape(0)));
    Reals y = xt::zeros<double>(extents(shape));
    for (Place p(shape); p; p.next()) {
      Shape at = p.at(), whole = shape;
      whole[axis] = extent;
      for (at[axis] = 0; at[axis] < extent; ++at[axis])
        if (m(p[axis], at[axis]) != 0) y.data()[p.index()] += m(p[axis], at[axis]) * x.data()[offset(at, whole)];
    }
    x = y;
  }
  return x;
}

// f(element of the region's result, element of the data, weight) for all samples of all regions.
template <class F>
void each_sample(const ReferenceContext& c, const Shape& data, F f) {
  const Reals rois = c.real(1);
  const Wholes images = c.indices(2);
  const std::vector<int64_t> out = c.integers("output_size");
  const double scale = c.number("spatial_scale");
  const int64_t sampling = std::max<int64_t>(0, c.integer("sampling_ratio"));
  const auto rows = static_cast<double>(out[0]), columns = static_cast<double>(out[1]);
  for (int64_t r = 0; r < c.shape(1)[0]; ++r) check_region(images.data()[r], r, data[0]);
  for (int64_t r = 0; r < c.shape(1)[0]; ++r) {
    const double x = rois(r, 0) * scale, y = rois(r, 1) * scale;
    const double w = std::max(rois(r, 2) * scale - x, 1.0) / columns, h = std::max(rois(r, 3) * scale - y, 1.0) / rows;
    const auto samples = [&](double cell, int64_t extent) {  // one a pixel, where no number is given
      const double wanted = std::ceil(cell), most = static_cast<double>(16 * extent + 16);
      return sampling > 0 ? sampling : static_cast<int64_t>(wanted < most ? wanted : most);
    };
    const int64_t n_y = samples(h, data[2]), n_x = samples(w, data[3]);
    const double count = static_cast<double>(std::max<int64_t>(n_y * n_x, 1));
    for (Place p({data[1], out[0], out[1], n_y, n_x}); p; p.next()) {
      const auto place = [](double from, double cell, int64_t i, int64_t k, int64_t n) {
        return from + static_cast<double>(i) * cell + (static_cast<double>(k) + 0.5) * cell / static_cast<double>(n);
      };
      const double at_y = place(y, h, p[1], p[3], n_y), at_x = place(x, w, p[2], p[4], n_x);
      // Nothing at places more than a pixel outside; less than that, the edge.
      if (!(at_y >= -1 && at_y <= static_cast<double>(data[2]) && at_x >= -1 && at_x <= static_cast<double>(data[3])))
        continue;
      const double inside_y = std::clamp(at_y, 0.0, static_cast<double>(data[2] - 1));
      const double inside_x = std::clamp(at_x, 0.0, static_cast<double>(data[3] - 1));
      for (int64_t i = static_cast<int64_t>(inside_y);
           i <= std::min<int64_t>(static_cast<int64_t>(inside_y) + 1, data[2] - 1); ++i)
        for (int64_t j = static_cast<int64_t>(inside_x);
             j <= std::min<int64_t>(static_cast<int64_t>(inside_x) + 1, data[3] - 1); ++j)
          f(offset({r, p[0], p[1], p[2]}, {c.shape(1)[0], data[1], out[0], out[1]}),
            offset({images.data()[r], p[0], i, j}, data),
            (1 - std::abs(inside_y - static_cast<double>(i))) * (1 - std::abs(inside_x - static_cast<double>(j))) /
                count);
    }
  }
}

}  // namespace

void interpolate(ReferenceContext& c) { c.out(0, resampled(c, c.real(0), c.shape(0), c.out_shape(), false)); }
void interpolate_grad(ReferenceContext& c) { c.out(0, resampled(c, c.real(0), c.out_shape(), c.shape(0), true)); }

void roi_align(ReferenceContext& c) {
  const Reals x = c.real(0);
  Reals y = xt::zeros<double>(extents(c.out_shape()));
  each_sample(c, c.shape(0), [&](int64_t to, int64_t from, double w) { y.data()[to] += w * x.data()[from]; });
  c.out(0, y);
}
void roi_align_grad(ReferenceContext& c) {
  const Reals g = c.real(0);
  Reals dx = xt::zeros<double>(extents(c.out_shape()));
  each_sample(c, c.out_shape(), [&](int64_t from, int64_t to, double w) { dx.data()[to] += w * g.data()[from]; });
  c.out(0, dx);
}

}  // namespace pxl::reference
