#include "runtime/kernels/resample.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "runtime/kernels/through_float.hpp"

namespace pxl {
namespace {

/// Position of output element i in input coordinates.
double old_place(int64_t i, int64_t in, int64_t out, double scale, Coordinates coordinates) {
  const double x = static_cast<double>(i), last = static_cast<double>(in - 1);
  switch (coordinates) {
    case Coordinates::half_pixel: return (x + 0.5) / scale - 0.5;
    case Coordinates::pytorch_half_pixel: return out > 1 ? (x + 0.5) / scale - 0.5 : 0.0;
    case Coordinates::align_corners: return out > 1 ? x * last / static_cast<double>(out - 1) : 0.0;
    case Coordinates::asymmetric: return x / scale;
    case Coordinates::tf_crop_and_resize:  // of the whole image
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

/// The last axis: sums of the same terms in the same order, without a loop over inner elements.
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

template <class T>
void gather_row(const AxisTaps& a, const std::vector<T>& weight, int64_t inner, const T* x, T* y) {
  if (a.taps == 1) {  // the nearest element, with weight 1
    for (int64_t o = 0; o < a.out; ++o) {
      const T* from = x + a.index[static_cast<size_t>(o)] * inner;
      if (inner == 1)
        y[o] = *from;
      else
        std::copy(from, from + inner, y + o * inner);
    }
    return;
  }
  if (inner == 1) return a.taps == 2 ? gather_elements<T, 2>(a, weight, x, y) : gather_elements<T, 4>(a, weight, x, y);
  for (int64_t o = 0; o < a.out; ++o) {
    T* to = y + o * inner;
    std::fill(to, to + inner, T(0));
    for (int64_t t = o * a.taps; t < (o + 1) * a.taps; ++t) {
      const T w = weight[static_cast<size_t>(t)];
      const T* from = x + a.index[static_cast<size_t>(t)] * inner;
      for (int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
    }
  }
}

/// The same sums as scatter_row's, along the last axis. Elements that follow each other and go to one place are summed
/// in a register.
template <class T, int taps>
void scatter_elements(const AxisTaps& a, const std::vector<T>& weight, const T* g, T* dx) {
  const int64_t* index = a.index.data();
  if constexpr (taps == 1) {  // weight 1
    for (int64_t o = 0; o < a.out;) {
      const int64_t at = index[o];
      T sum = dx[at];
      do sum += g[o];
      while (++o < a.out && index[o] == at);
      dx[at] = sum;
    }
  } else {
    const T* w = weight.data();
    for (int64_t o = 0; o < a.out; ++o, index += taps, w += taps)
      for (int t = 0; t < taps; ++t) dx[index[t]] += w[t] * g[o];
  }
}

template <class T>
void scatter_row(const AxisTaps& a, const std::vector<T>& weight, int64_t inner, const T* g, T* dx) {
  std::fill(dx, dx + a.in * inner, T(0));
  if (inner == 1 && a.taps == 1) return scatter_elements<T, 1>(a, weight, g, dx);
  if (inner == 1 && a.taps == 2) return scatter_elements<T, 2>(a, weight, g, dx);
  if (inner == 1 && a.taps == 4) return scatter_elements<T, 4>(a, weight, g, dx);
  for (int64_t o = 0; o < a.out; ++o) {
    const T* from = g + o * inner;
    for (int64_t t = o * a.taps; t < (o + 1) * a.taps; ++t) {
      const T w = weight[static_cast<size_t>(t)];
      T* to = dx + a.index[static_cast<size_t>(t)] * inner;
      for (int64_t i = 0; i < inner; ++i) to[i] += w * from[i];
    }
  }
}

/// Resamples one axis after the other; backward in reverse order. Intermediate results are in the workspace.
template <class T>
Kernel resample(Shape shape, const std::vector<AxisTaps>& axes, bool backward) {
  std::vector<Phase> phases;
  double cost_ns = 0;
  if (axes.empty()) {
    const int64_t n = element_count(shape);
    return Kernel::parallel(n, 1024, static_cast<double>(n), [](const Buffers& b, int64_t begin, int64_t end) {
      std::copy(b.input<T>(0) + begin, b.input<T>(0) + end, b.output<T>(0) + begin);
    });
  }
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
    std::vector<T> weight(a.weight.begin(), a.weight.end());
    cost_ns += static_cast<double>(a.out * a.taps) * static_cast<double>(outer * inner);
    phases.push_back({outer, 1, [=, weight = std::move(weight)](const Buffers& b, int64_t begin, int64_t end) {
                        // The operand and result of the first and last axis are the kernel's own.
                        const auto own = [&](size_t k) { return b.workspace(between[k]); };
                        if (!backward) {
                          const T* x = i == 0 ? b.input<T>(0) : own(i - 1);
                          T* y = i == n - 1 ? b.output<T>(0) : own(i);
                          for (int64_t o = begin; o < end; ++o)
                            gather_row(a, weight, inner, x + o * a.in * inner, y + o * a.out * inner);
                        } else {
                          const T* g = i == n - 1 ? b.input<T>(0) : own(i);
                          T* dx = i == 0 ? b.output<T>(0) : own(i - 1);
                          for (int64_t o = begin; o < end; ++o)
                            scatter_row(a, weight, inner, g + o * a.out * inner, dx + o * a.in * inner);
                        }
                      }});
  }
  return Kernel::parallel(std::move(phases), cost_ns).with_workspace(workspace);
}

Kernel resample_any(DType dtype, const Shape& shape, const std::vector<AxisTaps>& axes, bool backward) {
  if (dtype == DType::float64) return resample<double>(shape, axes, backward);
  Kernel k = resample<float>(shape, axes, backward);
  if (dtype != DType::float16) return k;
  Shape result = shape;
  for (const AxisTaps& a : axes) result[static_cast<size_t>(a.axis)] = a.out;
  const int64_t from = element_count(backward ? result : shape), to = element_count(backward ? shape : result);
  return through_float(k, {from}, to);
}

}  // namespace

AxisTaps axis_taps(int64_t axis, int64_t in, int64_t out, double scale, Interpolation mode, NearestMode nearest,
                   Coordinates coordinates) {
  AxisTaps a{axis, in, out, mode == Interpolation::nearest ? 1 : mode == Interpolation::linear ? 2 : 4, {}, {}};
  const auto clamped = [&](double i) { return static_cast<int64_t>(std::clamp(i, 0.0, static_cast<double>(in - 1))); };
  for (int64_t i = 0; i < out; ++i) {
    const double x = old_place(i, in, out, scale, coordinates);
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
