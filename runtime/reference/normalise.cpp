// Softmax and the normalisations, with their gradients.
#include <algorithm>
#include <cmath>

#include "runtime/op/definitions.hpp"
#include "runtime/reference/context.hpp"

namespace pxl::reference {

namespace {

// Samples, groups, channels of a group, places: a group's statistics are over the last two axes.
Extents grouped(const Shape& shape, int64_t groups) {
  int64_t places = 1;
  for (size_t i = 2; i < shape.size(); ++i) places *= shape[i];
  return extents({shape[0], groups, shape[1] / groups, places});
}
// Layers: every position but the last axis is a separate sample.
Extents layered(const Shape& shape) {
  return extents({element_count(Shape(shape.begin(), shape.end() - 1)), 1, shape.back(), 1});
}

// Samples, channels, places.
Extents planes_of(const Shape& shape) {
  int64_t places = 1;
  for (size_t i = 2; i < shape.size(); ++i) places *= shape[i];
  return extents({shape[0], shape[1], places});
}
double elements_of_channel(const Extents& planes) {
  return static_cast<double>(std::max<size_t>(1, planes[0] * planes[2]));
}

Reals shaped(const Reals& x, const Extents& shape) { return xt::reshape_view(x, shape); }
Extents of_channels(const Extents& four) { return {1, four[1], four[2], 1}; }
Extents of_rows(const Extents& four) { return {four[0], four[1], 1, 1}; }
Reals mean_of_rows(const Reals& x) {
  return sum_of(x, {2, 3}, true) / static_cast<double>(std::max<size_t>(1, x.shape(2) * x.shape(3)));
}

// Subtracts the mean; a second difference removes the rounding error of the first.
Reals centred_rows(const Reals& x) {
  const Reals near = x - mean_of_rows(x);
  return near - mean_of_rows(near);
}

void normalise(ReferenceContext& c, const Extents& four) {
  const Reals x = shaped(c.real(0), four), centred = centred_rows(x);
  const Reals inverse = 1.0 / xt::sqrt(mean_of_rows(centred * centred) + c.number("eps"));
  const Reals weight = shaped(c.real(1), of_channels(four)), bias = shaped(c.real(2), of_channels(four));
  c.out(0, shaped(centred * inverse * weight + bias, extents(c.out_shape(0))));
  c.out(1, shaped(mean_of_rows(x), extents(c.out_shape(1))));
  c.out(2, shaped(inverse, extents(c.out_shape(2))));
}

void normalise_grad(ReferenceContext& c, const Extents& four) {
  const Reals g = shaped(c.real(0), four), inverse = shaped(c.real(4), of_rows(four));
  const Reals hat = centred_rows(shaped(c.real(1), four) - shaped(c.real(3), of_rows(four))) * inverse;
  const Reals gw = g * shaped(c.real(2), of_channels(four));
  c.out(0, shaped(inverse * (gw - mean_of_rows(gw) - hat * mean_of_rows(gw * hat)), extents(c.out_shape(0))));
  c.out(1, shaped(sum_of(Reals(g * hat), {0, 3}), extents(c.out_shape(1))));
  c.out(2, shaped(sum_of(g, {0, 3}), extents(c.out_shape(2))));
}

}  // namespace

void softmax(ReferenceContext& c) {
  const Reals x = c.real(0);
  const std::vector<int64_t> axis = c.axes("axis");
  const Reals e = xt::exp(x - largest_of(x, axis, true));
  c.out(0, e / sum_of(e, axis, true));
}
void softmax_grad(ReferenceContext& c) {
  const Reals g = c.real(0), y = c.real(1);
  c.out(0, y * (g - sum_of(Reals(g * y), c.axes("axis", 1), true)));
}
void log_softmax(ReferenceContext& c) {
  const std::vector<int64_t> axis = c.axes("axis");
  const Reals x = c.real(0), below = x - largest_of(x, axis, true);
  c.out(0, below - xt::log(sum_of(Reals(xt::exp(below)), axis, true)));
}
void log_softmax_grad(ReferenceContext& c) {
  const Reals g = c.real(0);
  c.out(0, g - xt::exp(c.real(1)) * sum_of(g, c.axes("axis", 1), true));
}

void group_normalization(ReferenceContext& c) { normalise(c, grouped(c.shape(0), c.integer("num_groups"))); }
void group_normalization_grad(ReferenceContext& c) { normalise_grad(c, grouped(c.shape(1), c.integer("num_groups"))); }
void layer_normalization(ReferenceContext& c) { normalise(c, layered(c.shape(0))); }
void layer_normalization_grad(ReferenceContext& c) { normalise_grad(c, layered(c.shape(1))); }

void batch_norm_inference(ReferenceContext& c) {
  Shape over(c.shape(0).size(), 1);
  over[1] = c.shape(0)[1];
  const auto channel = [&](size_t slot) { return shaped(c.real(slot), extents(over)); };
  const Reals scale = channel(1), bias = channel(2), mean = channel(3), variance = channel(4);
  c.out(0, (c.real(0) - mean) / xt::sqrt(variance + c.number("epsilon")) * scale + bias);
}

void batch_statistics(ReferenceContext& c) {
  const Extents planes = planes_of(c.shape(0));
  const Reals x = shaped(c.real(0), planes), mean = sum_of(x, {0, 2}, true) / elements_of_channel(planes);
  const Reals rounded = each([&](double m) { return c.rounded<double>(m); }, mean), near = x - rounded;
  const Reals rest = sum_of(near, {0, 2}, true) / elements_of_channel(planes), centred = near - rest;
  c.out(0, shaped(mean, extents(c.out_shape(0))));
  c.out(1, sum_of(Reals(centred * centred), {0, 2}) / elements_of_channel(planes));
  c.out(2, shaped(rest, extents(c.out_shape(2))));
}
void batch_norm_grad_sums(ReferenceContext& c) {
  const Extents planes = planes_of(c.shape(1));
  const Reals g = shaped(c.real(0), planes), mean = shaped(c.real(2), {1, planes[1], 1});
  c.out(0, sum_of(g, {0, 2}));
  c.out(1, sum_of(Reals(g * (shaped(c.real(1), planes) - mean)), {0, 2}));
}

// Source: ONNX, operator LRN.
void lrn(ReferenceContext& c) {
  const Reals x = c.real(0);
  const Shape& shape = c.shape(0);
  const int64_t size = c.integer("size"), before = (size - 1) / 2, after = size - 1 - before;
  Reals y = Reals::from_shape(extents(shape));
  for (Place p(shape); p; p.next()) {
    double sum = 0;
    Shape at = p.at();
    const int64_t last = std::min(shape[1] - 1, p[1] + after);
    for (at[1] = std::max<int64_t>(0, p[1] - before); at[1] <= last; ++at[1]) {
      const double v = x.data()[offset(at, shape)];
      sum += v * v;
    }
    const double base = c.number("bias") + c.number("alpha") / static_cast<double>(size) * sum;
    y.data()[p.index()] = x.data()[p.index()] / std::pow(base, c.number("beta"));
  }
  c.out(0, y);
}

}  // namespace pxl::reference
