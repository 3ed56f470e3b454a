// See pooling.hpp.
#include "runtime/kernels/pooling.hpp"

#include <limits>

#include "runtime/kernels/lines.hpp"
#include "runtime/kernels/scratch.hpp"

namespace pxl {
namespace {

template <class T>
bool above(T a, T b) {
  return a > b || a != a;
}

/// Rows of windows of a plane, the last axis left: f(offset of the row of results, outer indices d and h of the
/// windows).
template <class F>
void each_row(const Pool& p, F&& f) {
  for (int64_t od = 0; od < p.axes[0].out; ++od)
    for (int64_t oh = 0; oh < p.axes[1].out; ++oh)
      f(((p.out_before[0] + od) * p.out_extent(1) + p.out_before[1] + oh) * p.out_extent(2) + p.out_before[2], od, oh);
}

/// Where element k of window o lies in the undilated input, or -1.
int64_t element(const WindowAxis& a, int64_t o, int64_t k) {
  const int64_t at = a.place(o, k);
  if (at < 0 || at % a.in_dilation != 0) return -1;
  const int64_t i = at / a.in_dilation;
  return i < a.in ? i : -1;
}

/// The rows of input that a row of windows reads: f(offset of the row), in order.
template <class F>
void each_input_row(const Pool& p, int64_t od, int64_t oh, F&& f) {
  for (int64_t kd = 0; kd < p.axes[0].kernel; ++kd) {
    const int64_t id = element(p.axes[0], od, kd);
    if (id < 0) continue;
    for (int64_t kh = 0; kh < p.axes[1].kernel; ++kh) {
      const int64_t ih = element(p.axes[1], oh, kh);
      if (ih >= 0) f((id * p.axes[1].in + ih) * p.axes[2].in);
    }
  }
}

/// One row of input and the windows along it: f(window o, place in the row), for each kernel element in order.
template <class F>
void each_element(const WindowAxis& w, F&& f) {
  for (int64_t k = 0; k < w.kernel; ++k) {
    if (w.in_dilation == 1) {
      const auto range = w.inside(k);
      const int64_t base = w.place(0, k);
      for (int64_t o = range.first; o < range.last; ++o) f(o, base + o * w.stride);
    } else {
      for (int64_t o = 0; o < w.out; ++o)
        if (const int64_t i = element(w, o, k); i >= 0) f(o, i);
    }
  }
}

/// A kernel over planes: f(plane), where inputs and output are of the computing type.
template <class F>
Kernel by_plane(const Pool& p, F&& f) {
  const double work = static_cast<double>(p.planes) * static_cast<double>(output_size(p.axes)) *
                      (1.0 + static_cast<double>(kernel_size(p.axes)));
  return Kernel::divisible(p.planes, 1, work, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t plane = begin; plane < end; ++plane) f(b, plane);
  });
}

// A plane of input or output as the computing type; float16 goes through a buffer.
template <class T, int slot>
const compute_type<T>* load_plane(const Buffers& b, size_t input, int64_t plane, int64_t size) {
  using C = compute_type<T>;
  C* buffer = nullptr;
  if constexpr (!std::is_same_v<T, C>) buffer = scratch<C, slot>(static_cast<size_t>(size));
  return load_line(b.input<T>(input) + plane * size, 1, size, buffer);
}

template <class T>
struct ResultPlane {
  using C = compute_type<T>;
  T* to;
  C* data;
  int64_t size;
  ResultPlane(const Buffers& b, int64_t plane, int64_t n) : to(b.output<T>(0) + plane * n), size(n) {
    if constexpr (std::is_same_v<T, C>)
      data = to;
    else
      data = scratch<C, 27>(static_cast<size_t>(n));
  }
  void store() const { store_line<T>(data, to, 1, size); }
};

/// For a row of windows: the best values so far, and where they lie in the plane (-1: only padding).
template <class C>
void find_maxima(const Pool& p, const C* x, int64_t od, int64_t oh, C* best, int64_t* at) {
  const WindowAxis& w = p.axes[2];
  std::fill(best, best + w.out, -std::numeric_limits<C>::infinity());
  std::fill(at, at + w.out, int64_t{-1});
  each_input_row(p, od, oh, [&](int64_t row) {
    each_element(w, [&](int64_t o, int64_t i) {
      // A window of nothing but -inf has its first element as its maximum.
      if (at[o] < 0 || (above(x[row + i], best[o]) && best[o] == best[o])) best[o] = x[row + i], at[o] = row + i;
    });
  });
}

bool has_pads(const Pool& p) { return p.out_size() != output_size(p.axes); }

}  // namespace

Kernel max_pool_kernel(DType dtype, const Pool& p) {
  return with_floating("max_pool", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return by_plane(p, [p](const Buffers& b, int64_t plane) {
      const WindowAxis& w = p.axes[2];
      const C* x = load_plane<T, 25>(b, 0, plane, input_size(p.axes));
      const ResultPlane<T> y(b, plane, p.out_size());
      if (has_pads(p)) std::fill(y.data, y.data + y.size, C(0));
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        C* best = y.data + result;
        std::fill(best, best + w.out, -std::numeric_limits<C>::infinity());
        each_input_row(p, od, oh, [&](int64_t row) {
          each_element(w, [&](int64_t o, int64_t i) {
            const C v = x[row + i], now = best[o];
            best[o] = v > now || v != v ? v : now;
          });
        });
      });
      y.store();
    });
  });
}

Kernel max_pool_pick_kernel(DType dtype, const Pool& p) {
  return with_floating("max_pool_pick", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return by_plane(p, [p](const Buffers& b, int64_t plane) {
      const WindowAxis& w = p.axes[2];
      const C* t = load_plane<T, 24>(b, 0, plane, input_size(p.axes));
      const C* x = load_plane<T, 25>(b, 1, plane, input_size(p.axes));
      const ResultPlane<T> y(b, plane, p.out_size());
      if (has_pads(p)) std::fill(y.data, y.data + y.size, C(0));
      C* best = scratch<C, 26>(static_cast<size_t>(w.out));
      int64_t* at = scratch<int64_t, 26>(static_cast<size_t>(w.out));
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        find_maxima(p, x, od, oh, best, at);
        for (int64_t o = 0; o < w.out; ++o) y.data[result + o] = at[o] < 0 ? C(0) : t[at[o]];
      });
      y.store();
    });
  });
}

Kernel max_pool_grad_kernel(DType dtype, const Pool& p) {
  return with_floating("max_pool_grad", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return by_plane(p, [p](const Buffers& b, int64_t plane) {
      const WindowAxis& w = p.axes[2];
      const C* g = load_plane<T, 24>(b, 0, plane, p.out_size());
      const C* x = load_plane<T, 25>(b, 1, plane, input_size(p.axes));
      const ResultPlane<T> dx(b, plane, input_size(p.axes));
      std::fill(dx.data, dx.data + dx.size, C(0));
      C* best = scratch<C, 26>(static_cast<size_t>(w.out));
      int64_t* at = scratch<int64_t, 26>(static_cast<size_t>(w.out));
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        find_maxima(p, x, od, oh, best, at);
        for (int64_t o = 0; o < w.out; ++o)
          if (at[o] >= 0) dx.data[at[o]] += g[result + o];
      });
      dx.store();
    });
  });
}

namespace {

/// How many elements that are not padding each window has along one axis.
std::vector<int64_t> counts(const WindowAxis& a) {
  std::vector<int64_t> n(static_cast<size_t>(a.out), 0);
  for (int64_t o = 0; o < a.out; ++o)
    for (int64_t k = 0; k < a.kernel; ++k) n[static_cast<size_t>(o)] += element(a, o, k) >= 0;
  return n;
}

/// 1 over the number of elements of each window, 0 where there are none.
template <class C>
std::vector<C> window_weights(const Pool& p) {
  const auto d = counts(p.axes[0]), h = counts(p.axes[1]), w = counts(p.axes[2]);
  std::vector<C> weights;
  weights.reserve(static_cast<size_t>(output_size(p.axes)));
  for (int64_t i : d)
    for (int64_t j : h)
      for (int64_t k : w) weights.push_back(i * j * k == 0 ? C(0) : C(1) / static_cast<C>(i * j * k));
  return weights;
}

}  // namespace

Kernel average_pool_kernel(DType dtype, const Pool& p) {
  return with_floating("average_pool", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return by_plane(p, [p, weights = window_weights<C>(p)](const Buffers& b, int64_t plane) {
      const WindowAxis& w = p.axes[2];
      const C* x = load_plane<T, 25>(b, 0, plane, input_size(p.axes));
      const ResultPlane<T> y(b, plane, p.out_size());
      std::fill(y.data, y.data + y.size, C(0));
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        C* sums = y.data + result;
        each_input_row(p, od, oh,
                       [&](int64_t row) { each_element(w, [&](int64_t o, int64_t i) { sums[o] += x[row + i]; }); });
        const C* weight = weights.data() + (od * p.axes[1].out + oh) * w.out;
        for (int64_t o = 0; o < w.out; ++o) sums[o] *= weight[o];
      });
      y.store();
    });
  });
}

Kernel average_pool_grad_kernel(DType dtype, const Pool& p) {
  return with_floating("average_pool_grad", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    return by_plane(p, [p, weights = window_weights<C>(p)](const Buffers& b, int64_t plane) {
      const WindowAxis& w = p.axes[2];
      const C* g = load_plane<T, 24>(b, 0, plane, p.out_size());
      const ResultPlane<T> dx(b, plane, input_size(p.axes));
      std::fill(dx.data, dx.data + dx.size, C(0));
      C* shares = scratch<C, 26>(static_cast<size_t>(w.out));
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        const C* weight = weights.data() + (od * p.axes[1].out + oh) * w.out;
        for (int64_t o = 0; o < w.out; ++o) shares[o] = g[result + o] * weight[o];
        each_input_row(p, od, oh, [&](int64_t row) {
          each_element(w, [&](int64_t o, int64_t i) { dx.data[row + i] += shares[o]; });
        });
      });
      dx.store();
    });
  });
}

}  // namespace pxl
