#include "runtime/kernels/image/resample.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/kernels/through_float.hpp"

namespace pxl {
namespace {

/// Whether a scale is the ratio of the extents, rounded to float64 or float32.
bool is_ratio(double scale, int64_t in, int64_t out) {
  const double ratio = static_cast<double>(out) / static_cast<double>(in);
  return scale == ratio || scale == static_cast<double>(static_cast<float>(ratio));
}

/// Position of output element i in input coordinates. `exact` uses the ratio of the extents and rounds once, which
/// moves no position across the middle or the border of an element.
double old_place(int64_t i, int64_t in, int64_t out, double scale, bool exact, Coordinates coordinates) {
  const double x = static_cast<double>(i), last = static_cast<double>(in - 1);
  const auto along = [&](double place) {
    return exact ? place * static_cast<double>(in) / static_cast<double>(out) : place / scale;
  };
  switch (coordinates) {
    case Coordinates::half_pixel: return along(x + 0.5) - 0.5;
    case Coordinates::pytorch_half_pixel: return out > 1 ? along(x + 0.5) - 0.5 : 0.0;
    case Coordinates::align_corners: return out > 1 ? x * last / static_cast<double>(out - 1) : 0.0;
    case Coordinates::asymmetric: return along(x);
    case Coordinates::tf_crop_and_resize:  // the crop is the whole image
      return out > 1 ? x * last / static_cast<double>(out - 1) : 0.5 * last;
  }
  return x;
}

double nearest_place(double x, NearestMode mode) {
  switch (mode) {
    case NearestMode::round_prefer_floor: return std::ceil(x - 0.5);
    case NearestMode::round_prefer_ceil: return std::floor(x + 0.5);
    case NearestMode::floor: return std::floor(x);
    case NearestMode::ceil: return std::ceil(x);
  }
  return x;
}

/// Keys' cubic convolution kernel with coefficient -0.75.
double cubic_weight(double distance) {
  constexpr double a = -0.75;
  const double d = std::abs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  if (d < 2) return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
  return 0;
}

/// [outer, extent, inner] around an axis.
struct Span {
  int64_t outer = 1, inner = 1;
  Span(const Shape& shape, int64_t axis) {
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) != axis) (static_cast<int64_t>(i) < axis ? outer : inner) *= shape[i];
  }
};

/// The last axis: the same terms in the same order, without a loop over inner elements.
template <class T, int taps>
void gather_elements(const AxisTaps& a, const std::vector<T>& weight, const T* x, T* y) {
  const int64_t* index = a.index.data();
  const T* w = weight.data();
  for (int64_t o = 0; o < a.out; ++o, index += taps, w += taps) {
    T sum = 0;
    for (int t = 0; t < taps; ++t) sum += w[t] * x[index[t]];
    y[o] = sum;
  }
}

/// Another axis: rows of `inner` elements, the same terms in the same order.
template <class T, int taps>
void gather_lines(const AxisTaps& a, const std::vector<T>& weight, int64_t inner, const T* x, T* y) {
  const int64_t* index = a.index.data();
  const T* w = weight.data();
  for (int64_t o = 0; o < a.out; ++o, index += taps, w += taps, y += inner)
    for (int64_t i = 0; i < inner; ++i) {
      T sum = 0;
      for (int t = 0; t < taps; ++t) sum += w[t] * x[index[t] * inner + i];
      y[i] = sum;
    }
}

/// How often each element is repeated, if the nearest elements repeat all elements equally often; else 0.
int64_t repeats_of(const AxisTaps& a) {
  if (a.taps != 1 || a.in == 0 || a.out % a.in != 0) return 0;
  const int64_t times = a.out / a.in;
  for (int64_t o = 0; o < a.out; ++o)
    if (a.index[static_cast<size_t>(o)] != o / times) return 0;
  return times;
}

/// Repeats each element `times` times. A constant number makes vector code.
template <int64_t constant, class T>
void repeat_each(const T* x, T* y, int64_t n, int64_t times) {
  if constexpr (constant > 0) times = constant;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < times; ++k) y[i * times + k] = x[i];
}
template <class T>
void repeat_each(const T* x, T* y, int64_t n, int64_t times) {
  switch (times) {
    case 2: return repeat_each<2>(x, y, n, times);
    case 4: return repeat_each<4>(x, y, n, times);
    default: return repeat_each<0>(x, y, n, times);
  }
}
/// Sums of `times` adjacent elements, in order.
template <int64_t constant, class T>
void sum_repeated(const T* g, T* dx, int64_t n, int64_t times) {
  if constexpr (constant > 0) times = constant;
  for (int64_t i = 0; i < n; ++i) {
    T sum = 0;
    for (int64_t k = 0; k < times; ++k) sum += g[i * times + k];
    dx[i] = sum;
  }
}
template <class T>
void sum_repeated(const T* g, T* dx, int64_t n, int64_t times) {
  switch (times) {
    case 2: return sum_repeated<2>(g, dx, n, times);
    case 4: return sum_repeated<4>(g, dx, n, times);
    default: return sum_repeated<0>(g, dx, n, times);
  }
}

/// The taps of an axis by input element, for gradients. Element i is the sum of weight[k] * g[from[k]] for first[i] <=
/// k < first[i + 1], in the order of the outputs.
template <class T>
struct TransposedTaps {
  std::vector<int64_t> first, from;
  std::vector<T> weight;

  explicit TransposedTaps(const AxisTaps& a)
      : first(static_cast<size_t>(a.in) + 1, 0), from(a.index.size()), weight(a.index.size()) {
    for (const int64_t i : a.index) ++first[static_cast<size_t>(i) + 1];
    for (size_t i = 1; i < first.size(); ++i) first[i] += first[i - 1];
    std::vector<int64_t> next(first.begin(), first.end() - 1);
    for (size_t k = 0; k < a.index.size(); ++k) {
      const auto to = static_cast<size_t>(next[static_cast<size_t>(a.index[k])]++);
      from[to] = static_cast<int64_t>(k) / a.taps;
      weight[to] = static_cast<T>(a.weight[k]);
    }
  }
  void sum(const T* g, T* dx) const {
    const int64_t *at = first.data(), *source = from.data();
    const T* w = weight.data();
    for (size_t i = 0; i + 1 < first.size(); ++i) {
      T total = 0;
      for (int64_t k = at[i]; k < at[i + 1]; ++k) total += w[k] * g[source[k]];
      dx[i] = total;
    }
  }
};

/// The tables for a row of an axis, forward and backward.
template <class T>
struct AxisTables {
  AxisTaps taps;
  std::vector<T> weight;
  int64_t repeats;
  TransposedTaps<T> transposed;
  explicit AxisTables(const AxisTaps& a)
      : taps(a), weight(a.weight.begin(), a.weight.end()), repeats(repeats_of(a)), transposed(a) {}
};

template <class T>
void gather_row(const AxisTables<T>& tables, int64_t inner, const T* x, T* y) {
  const AxisTaps& a = tables.taps;
  if (a.taps == 1) {  // the nearest element, with weight 1
    if (inner == 1 && tables.repeats > 0) return repeat_each(x, y, a.in, tables.repeats);
    for (int64_t o = 0; o < a.out; ++o) {
      const T* from = x + a.index[static_cast<size_t>(o)] * inner;
      if (inner == 1)
        y[o] = *from;
      else
        std::copy(from, from + inner, y + o * inner);
    }
    return;
  }
  const std::vector<T>& weight = tables.weight;
  if (inner == 1) return a.taps == 2 ? gather_elements<T, 2>(a, weight, x, y) : gather_elements<T, 4>(a, weight, x, y);
  return a.taps == 2 ? gather_lines<T, 2>(a, weight, inner, x, y) : gather_lines<T, 4>(a, weight, inner, x, y);
}

template <class T>
void scatter_row(const AxisTables<T>& tables, int64_t inner, const T* g, T* dx) {
  const AxisTaps& a = tables.taps;
  if (inner == 1) {
    if (tables.repeats > 0) return sum_repeated(g, dx, a.in, tables.repeats);
    return tables.transposed.sum(g, dx);
  }
  std::fill(dx, dx + a.in * inner, T(0));
  for (int64_t o = 0; o < a.out; ++o) {
    const T* from = g + o * inner;
    for (int64_t t = o * a.taps; t < (o + 1) * a.taps; ++t) {
      const T w = tables.weight[static_cast<size_t>(t)];
      T* to = dx + a.index[static_cast<size_t>(t)] * inner;
      for (int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
    }
  }
}

/// Resamples one axis after another; backward in reverse order. Intermediate results are in the workspace. If
/// resampling enlarges, it starts with the last axis, whose elements are moved one by one. The other axes are moved by
/// rows.
template <class T>
Kernel resample(Shape shape, std::vector<AxisTaps> axes, bool backward) {
  std::vector<Phase> phases;
  double cost_ns = 0;
  if (axes.empty()) {
    const int64_t n = element_count(shape);
    return Kernel::parallel(n, 1024, static_cast<double>(n), [](const Buffers& b, int64_t begin, int64_t end) {
      std::copy(b.input<T>(0) + begin, b.input<T>(0) + end, b.output<T>(0) + begin);
    });
  }
  double growth = 1;
  for (const AxisTaps& a : axes) growth *= static_cast<double>(a.out) / static_cast<double>(std::max<int64_t>(a.in, 1));
  if (growth > 1) std::ranges::sort(axes, [](const AxisTaps& a, const AxisTaps& b) { return a.axis > b.axis; });
  std::vector<Shape> shapes{shape};
  for (const AxisTaps& a : axes) {
    shape[static_cast<size_t>(a.axis)] = a.out;
    shapes.push_back(shape);
  }
  const size_t n = axes.size();
  WorkspaceLayout workspace;
  std::vector<PerCall<T>> between;
  for (size_t i = 0; i + 1 < n; ++i) between.push_back(workspace.per_call<T>(element_count(shapes[i + 1])));
  for (size_t step = 0; step < n; ++step) {
    const size_t i = backward ? n - 1 - step : step;
    const AxisTaps& a = axes[i];
    const Span span(shapes[i], a.axis);
    const int64_t outer = span.outer, inner = span.inner;
    cost_ns += static_cast<double>(a.out * a.taps) * static_cast<double>(outer * inner);
    phases.push_back({outer, 1,
                      [=, tables = std::make_shared<const AxisTables<T>>(a), in = a.in, out = a.out](
                          const Buffers& b, int64_t begin, int64_t end) {
                        // The first operand and the last result are the kernel's own.
                        const auto own = [&](size_t k) { return b.workspace(between[k]); };
                        if (!backward) {
                          const T* x = i == 0 ? b.input<T>(0) : own(i - 1);
                          T* y = i == n - 1 ? b.output<T>(0) : own(i);
                          for (int64_t o = begin; o < end; ++o)
                            gather_row(*tables, inner, x + o * in * inner, y + o * out * inner);
                        } else {
                          const T* g = i == n - 1 ? b.input<T>(0) : own(i);
                          T* dx = i == 0 ? b.output<T>(0) : own(i - 1);
                          for (int64_t o = begin; o < end; ++o)
                            scatter_row(*tables, inner, g + o * out * inner, dx + o * in * inner);
                        }
                      }});
  }
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
}

Kernel resample_any(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes, bool backward) {
  if (dtype == DType::float64) return resample<double>(shape, axes, backward);
  Kernel k = resample<float>(shape, axes, backward);
  if (!is_narrow(dtype)) return k;
  Shape result = shape;
  for (const AxisTaps& a : axes) result[static_cast<size_t>(a.axis)] = a.out;
  const int64_t from = element_count(backward ? result : shape), to = element_count(backward ? shape : result);
  return through_float(k, {{from, dtype}}, {to, dtype});
}

}  // namespace

AxisTaps axis_taps(int64_t axis, int64_t in, int64_t out, double scale, Interpolation mode, NearestMode nearest,
                   Coordinates coordinates) {
  AxisTaps a{axis, in, out, mode == Interpolation::nearest ? 1 : mode == Interpolation::linear ? 2 : 4, {}, {}};
  const auto clamped = [&](double i) { return static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(in - 1))); };
  const bool exact = mode == Interpolation::nearest && is_ratio(scale, in, out);
  for (int64_t i = 0; i < out; ++i) {
    const double x = old_place(i, in, out, scale, exact, coordinates);
    if (mode == Interpolation::nearest) {
      a.index.push_back(clamped(nearest_place(x, nearest)));
      a.weight.push_back(1);
      continue;
    }
    const double below = std::floor(x), part = x - below;
    if (mode == Interpolation::linear) {
      for (int64_t k : {0, 1}) a.index.push_back(clamped(below + static_cast<double>(k)));
      a.weight.push_back(1 - part);
      a.weight.push_back(part);
    } else {
      for (int64_t k = -1; k <= 2; ++k) {
        a.index.push_back(clamped(below + static_cast<double>(k)));
        a.weight.push_back(cubic_weight(part - static_cast<double>(k)));
      }
    }
  }
  return a;
}

Kernel interpolate_kernel(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes) {
  return resample_any(dtype, shape, axes, false);
}
Kernel interpolate_grad_kernel(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes) {
  return resample_any(dtype, shape, axes, true);
}

}  // namespace pxl
