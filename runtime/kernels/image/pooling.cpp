#include "runtime/kernels/image/pooling.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <vector>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/extremes.hpp"
#include "runtime/kernels/image/window_sums.hpp"
#include "runtime/kernels/reduction/axis_slices.hpp"

namespace pxl {
namespace {

/// Calls f(offset of the result row, outer indices d and h of the windows) for each window row of a plane.
template <class F>
void each_row(const Pool& p, F&& f) {
  for (int64_t od = 0; od < p.axes[0].out; ++od)
    for (int64_t oh = 0; oh < p.axes[1].out; ++oh)
      f(((p.out_padding_before[0] + od) * p.out_extent(1) + p.out_padding_before[1] + oh) * p.out_extent(2) +
            p.out_padding_before[2],
        od, oh);
}

/// Position of window o's element k in the undilated input; -1 in padding.
int64_t element(const WindowAxis& a, int64_t o, int64_t k) {
  const int64_t at = a.place(o, k);
  if (a.in_dilation == 1) return at < a.in ? std::max<int64_t>(at, -1) : -1;
  if (at < 0 || at % a.in_dilation != 0) return -1;
  const int64_t i = at / a.in_dilation;
  return i < a.in ? i : -1;
}

/// Calls f(offset of the row), in order, for the input rows that a window row reads, which are `pitch` elements apart.
template <class F>
void each_input_row(const Pool& p, int64_t pitch, int64_t od, int64_t oh, F&& f) {
  for (int64_t kd = 0; kd < p.axes[0].kernel; ++kd) {
    const int64_t id = element(p.axes[0], od, kd);
    if (id < 0) continue;
    for (int64_t kh = 0; kh < p.axes[1].kernel; ++kh) {
      const int64_t ih = element(p.axes[1], oh, kh);
      if (ih >= 0) f((id * p.axes[1].in + ih) * pitch);
    }
  }
}

/// The elements of windows along the last axis: window o, for first <= o < last, has element k at base + o stride.
struct Steps {
  struct Step {
    int64_t first, last, base;
  };
  std::vector<Step> known;  // by k; empty if the kernel is very long

  explicit Steps(const WindowAxis& w) {
    if (w.in_dilation == 1 && w.kernel <= 4096)
      for (int64_t k = 0; k < w.kernel; ++k) known.push_back(at(w, k));
  }
  static Step at(const WindowAxis& w, int64_t k) {
    const auto range = w.inside(k);
    return {range.first, range.last, w.place(0, k)};
  }
};

/// Calls f(window o, place in the row) for one input row, for each kernel element in order. The usual strides are
/// compile-time constants, for which the compiler makes vector code.
template <class F>
void each_element(const WindowAxis& w, const Steps& steps, F&& f) {
  for (int64_t k = 0; k < w.kernel; ++k) {
    if (w.in_dilation != 1) {
      for (int64_t o = 0; o < w.out; ++o)
        if (const int64_t i = element(w, o, k); i >= 0) f(o, i);
      continue;
    }
    const Steps::Step s = steps.known.empty() ? Steps::at(w, k) : steps.known[static_cast<size_t>(k)];
    const auto run = [&](auto stride) {
      for (int64_t o = s.first; o < s.last; ++o) f(o, s.base + o * stride);
    };
    if (w.stride == 1)
      run(std::integral_constant<int64_t, 1>());
    else if (w.stride == 2)
      run(std::integral_constant<int64_t, 2>());
    else
      run(w.stride);
  }
}

/// A kernel that calls f(plane). Inputs and output are in the computing type.
template <class F>
Kernel by_plane(const Pool& p, const WorkspaceLayout& workspace, F&& f) {
  const double cost_ns = static_cast<double>(p.planes) * static_cast<double>(output_size(p.axes)) *
                         (1.0 + static_cast<double>(kernel_size(p.axes)));
  return Kernel::parallel(p.planes, 1, cost_ns,
                          [=](const Buffers& b, int64_t begin, int64_t end) {
                            for (int64_t plane = begin; plane < end; ++plane) f(b, plane);
                          })
      .with_workspace(workspace);
}

/// Operand or result planes in the computing type; float16 uses a buffer.
template <class T>
struct PlaneBuffer {
  using C = compute_type<T>;
  int64_t size = 0;
  PerThread<C> buffer;

  PlaneBuffer(WorkspaceLayout& w, int64_t n) : size(n), buffer(w.per_thread<C>(std::is_same_v<T, C> ? 0 : n)) {}
  const C* load(const Buffers& b, size_t input, int64_t plane) const {
    return load_line(b.input<T>(input) + plane * size, 1, size, b.workspace(buffer));
  }
};

template <class T>
struct ResultPlane {
  using C = compute_type<T>;
  T* to;
  C* data;
  int64_t size;
  ResultPlane(const Buffers& b, int64_t plane, const PlaneBuffer<T>& p)
      : to(b.output<T>(0) + plane * p.size), size(p.size) {
    if constexpr (std::is_same_v<T, C>)
      data = to;
    else
      data = b.workspace(p.buffer);
  }
  void store() const { store_line<T>(data, to, 1, size); }
};

/// Offsets of the input rows that a window row reads, in order.
class InputRows {
 public:
  InputRows(WorkspaceLayout& w, const Pool& p) : offsets_(w.per_thread<int64_t>(p.axes[0].kernel * p.axes[1].kernel)) {}
  std::span<const int64_t> find(const Buffers& b, const Pool& p, int64_t od, int64_t oh) const {
    int64_t* const rows = b.workspace(offsets_);
    size_t count = 0;
    each_input_row(p, p.axes[2].in, od, oh, [&](int64_t row) { rows[count++] = row; });
    return {rows, count};
  }

 private:
  PerThread<int64_t> offsets_;
};

/// Position of window o's first element that is not padding; -1 if there is none.
int64_t first_element(const WindowAxis& w, std::span<const int64_t> rows, int64_t o) {
  if (!rows.empty())
    for (int64_t k = 0; k < w.kernel; ++k)
      if (const int64_t i = element(w, o, k); i >= 0) return rows.front() + i;
  return -1;
}

/// The column maxima of `rows`, and their places, the first on ties. Rows are contiguous, so that the compiler
/// vectorises the loop. NaN is the largest value.
template <class C, class Place>
void column_maxima(const C* x, std::span<const int64_t> rows, int64_t n, C* best, Place* at) {
  for (int64_t i = 0; i < n; ++i) {
    best[i] = x[rows[0] + i];
    at[i] = static_cast<Place>(rows[0] + i);
  }
  for (const int64_t row : rows.subspan(1))
    for (int64_t i = 0; i < n; ++i) {
      const C v = x[row + i], now = best[i];
      const bool better = (v > now) | ((v != v) & (now == now));
      best[i] = better ? v : now;
      at[i] = better ? static_cast<Place>(row + i) : at[i];
    }
}

/// Working memory of find_maxima: the columns for one window row.
template <class C, class Place>
struct Columns {
  C* best;
  Place* at;
};

/// Positions of the first maximum in each window of a row; -1 if nothing is above -inf. NaN is the largest value.
template <class C, class Place>
void find_maxima(const WindowAxis& w, const Steps& steps, const C* x, std::span<const int64_t> rows,
                 const Columns<C, Place>& columns, C* best, Place* at) {
  std::fill(best, best + w.out, -std::numeric_limits<C>::infinity());
  std::fill(at, at + w.out, Place(-1));
  if (rows.empty()) return;
  column_maxima(x, rows, w.in, columns.best, columns.at);
  each_element(w, steps, [&](int64_t o, int64_t i) {
    const C v = columns.best[i], now = best[o];
    const Place place = columns.at[i];
    const bool same = (v == now) | ((v != v) & (now != now));  // a later column may have the earlier row
    const bool better = (v > now) | ((v != v) & (now == now)) | (same & (place < at[o]));
    best[o] = better ? v : now;
    at[o] = better ? place : at[o];
  });
}

/// Rows of a plane along the last axis, with their padding, in which every window is whole.
struct PaddedRow {
  WindowAxis w;
  int64_t before, width, first;  ///< elements before the row's first one, in all, and before the first window

  explicit PaddedRow(const WindowAxis& axis) : w(axis), before(std::max<int64_t>(w.padding_before, 0)) {
    first = before - w.padding_before;
    width = std::max(before + (w.in - 1) * w.in_dilation + 1, first + (w.out - 1) * w.stride + reach());
  }
  int64_t reach() const { return (w.kernel - 1) * w.dilation + 1; }

  template <class C>
  void copy(const C* row, C pad, C* to) const {
    std::fill(to, to + width, pad);
    for (int64_t i = 0; i < w.in; ++i) to[before + i * w.in_dilation] = row[i];
  }
};

/// The windows along the last axis that have no padding.
WindowAxis::Range whole_windows(const WindowAxis& w) {
  if (w.in_dilation != 1) return {};
  const WindowAxis::Range first = w.inside(0), last = w.inside(w.kernel - 1);
  return {first.first, std::max(first.first, last.last)};
}

template <class C>
const WindowFunctionsOf<C>& functions_of() {
  if constexpr (std::is_same_v<C, float>)
    return window_functions().singles;
  else
    return window_functions().doubles;
}

bool has_pads(const Pool& p) { return p.out_size() != output_size(p.axes); }

}  // namespace

Kernel max_pool_kernel(DType dtype, const Pool& p) {
  return with_floating("max_pool", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    constexpr C least = -std::numeric_limits<C>::infinity();
    const PaddedRow line(p.axes[2]);
    const bool apart = line.w.in_dilation != 1;
    WorkspaceLayout workspace;
    const PlaneBuffer<T> in(workspace, input_size(p.axes)), out(workspace, p.out_size());
    const InputRows input_rows(workspace, p);
    const auto padded = workspace.per_thread<C>(line.width), merged = workspace.per_thread<C>(apart ? line.w.in : 0);
    const auto starts = workspace.per_thread<const C*>(std::max(line.w.kernel, p.axes[0].kernel * p.axes[1].kernel));
    return by_plane(p, workspace, [=](const Buffers& b, int64_t plane) {
      const C* x = in.load(b, 0, plane);
      const ResultPlane<T> y(b, plane, out);
      if (has_pads(p)) std::fill(y.data, y.data + y.size, C(0));
      const C** const from = b.workspace(starts);
      C *const row = b.workspace(padded), *const columns = apart ? b.workspace(merged) : row + line.before;
      std::fill(row, row + line.width, least);
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        C* const best = y.data + result;
        const std::span<const int64_t> rows = input_rows.find(b, p, od, oh);
        if (rows.empty()) return std::fill(best, best + line.w.out, least);
        // The largest of each column first, then of the columns of each window.
        for (size_t i = 0; i < rows.size(); ++i) from[i] = x + rows[i];
        functions_of<C>().max({from, std::ssize(rows), 1, line.w.in, columns});
        if (apart) line.copy(columns, least, row);
        for (int64_t k = 0; k < line.w.kernel; ++k) from[k] = row + line.first + k * line.w.dilation;
        functions_of<C>().max({from, line.w.kernel, line.w.stride, line.w.out, best});
      });
      y.store();
    });
  });
}

namespace {

/// A kernel over the maxima of planes: f(input 0, the result, offset of a window in y's plane, place of its maximum in
/// x's plane, or -1). x is input 1. `gradient`: input 0 has y's spec and the result has x's.
template <class F>
Kernel by_maximum(std::string_view op, DType dtype, const Pool& p, bool gradient, F f) {
  return with_floating(op, dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const int64_t in = input_size(p.axes), out = p.out_size(), windows = p.axes[2].out;
    WorkspaceLayout workspace;
    const PlaneBuffer<T> first(workspace, gradient ? out : in), second(workspace, in),
        result(workspace, gradient ? in : out);
    const InputRows input_rows(workspace, p);
    const auto maxima = workspace.per_thread<C>(windows);
    const auto places = workspace.per_thread<int64_t>(windows);
    const auto column_values = workspace.per_thread<C>(p.axes[2].in);
    const auto column_places = workspace.per_thread<int64_t>(p.axes[2].in);
    return by_plane(p, workspace, [=, steps = Steps(p.axes[2])](const Buffers& b, int64_t plane) {
      const C* from = first.load(b, 0, plane);
      const C* x = second.load(b, 1, plane);
      const ResultPlane<T> to(b, plane, result);
      if (gradient || has_pads(p)) std::fill(to.data, to.data + to.size, C(0));
      const auto rows_with = [&](auto* at) {
        using Place = std::remove_reference_t<decltype(*at)>;
        C* best = b.workspace(maxima);
        const Columns<C, Place> columns{b.workspace(column_values),
                                        reinterpret_cast<Place*>(b.workspace(column_places))};
        each_row(p, [&](int64_t start, int64_t od, int64_t oh) {
          std::span<const int64_t> rows = input_rows.find(b, p, od, oh);
          find_maxima(p.axes[2], steps, x, rows, columns, best, at);
          for (int64_t o = 0; o < windows; ++o)
            f(from, to.data, start + o, at[o] >= 0 ? int64_t{at[o]} : first_element(p.axes[2], rows, o));
        });
      };
      if (in <= std::numeric_limits<int32_t>::max())
        rows_with(reinterpret_cast<int32_t*>(b.workspace(places)));
      else
        rows_with(b.workspace(places));
      to.store();
    });
  });
}

}  // namespace

Kernel max_pool_pick_kernel(DType dtype, const Pool& p) {
  return by_maximum("max_pool_pick", dtype, p, false,
                    [](const auto* t, auto* y, int64_t window, int64_t at) { y[window] = at < 0 ? 0 : t[at]; });
}

Kernel max_pool_grad_kernel(DType dtype, const Pool& p) {
  return by_maximum("max_pool_grad", dtype, p, true, [](const auto* g, auto* dx, int64_t window, int64_t at) {
    if (at >= 0) dx[at] += g[window];
  });
}

namespace {

/// Number of elements in each window along one axis, with or without padding.
std::vector<int64_t> counts(const WindowAxis& a, bool with_padding, int64_t padding_after) {
  const int64_t end = a.in_dilation * (a.in - 1) + 1 + padding_after;
  std::vector<int64_t> n(static_cast<size_t>(a.out), 0);
  for (int64_t o = 0; o < a.out; ++o)
    for (int64_t k = 0; k < a.kernel; ++k)
      n[static_cast<size_t>(o)] += with_padding ? a.place(o, k) < end : element(a, o, k) >= 0;
  return n;
}

/// 1 / (number of elements) for each window; 0 for empty windows.
template <class C>
std::vector<C> window_weights(const Pool& p) {
  const auto along = [&](size_t axis) { return counts(p.axes[axis], p.count_padding, p.padding_after[axis]); };
  const auto d = along(0), h = along(1), w = along(2);
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
    const PaddedRow line(p.axes[2]);
    const WindowAxis& w = line.w;
    const int64_t lines = p.axes[0].in * p.axes[1].in;
    // Windows in padding are summed one by one, or rows are copied with their padding, whichever is less work.
    const WindowAxis::Range whole = whole_windows(w);
    constexpr int64_t elements_copied_at_once = 8;
    const bool copied = (w.out - (whole.last - whole.first)) * w.kernel * elements_copied_at_once > w.in;
    const int64_t width = copied ? line.width : w.in, place = copied ? line.first : w.place(whole.first, 0);
    const int64_t first = copied ? 0 : whole.first, last = copied ? w.out : whole.last;
    WorkspaceLayout workspace;
    const PlaneBuffer<T> in(workspace, input_size(p.axes)), out(workspace, p.out_size());
    const auto padded = workspace.per_thread<C>(copied ? lines * width : 0);
    const auto starts = workspace.per_thread<const C*>(kernel_size(p.axes));
    return by_plane(p, workspace, [=, weights = window_weights<C>(p)](const Buffers& b, int64_t plane) {
      const C* const x = in.load(b, 0, plane);
      const ResultPlane<T> y(b, plane, out);
      if (has_pads(p)) std::fill(y.data, y.data + y.size, C(0));
      if (copied)
        for (int64_t i = 0; i < lines; ++i) line.copy(x + i * line.w.in, C(0), b.workspace(padded) + i * width);
      const C* const begin = (copied ? b.workspace(padded) : x) + place;
      const C** const from = b.workspace(starts);
      const C* weight = weights.data();
      each_row(p, [&](int64_t result, int64_t od, int64_t oh) {
        C* const to = y.data + result;
        int64_t count = 0;
        each_input_row(p, width, od, oh, [&](int64_t row) {
          for (int64_t k = 0; k < line.w.kernel; ++k) from[count++] = begin + row + k * line.w.dilation;
        });
        if (count > 0)
          functions_of<C>().sum({from, count, line.w.stride, last - first, to + first}, weight + first);
        else
          std::fill(to + first, to + last, C(0));
        for (int64_t o = 0; o < line.w.out; ++o) {
          if (o == first) o = last;
          if (o >= line.w.out) break;
          C sum = 0;
          each_input_row(p, width, od, oh, [&](int64_t row) {
            for (int64_t k = 0; k < line.w.kernel; ++k)
              if (const int64_t i = element(line.w, o, k); i >= 0) sum += x[row + i];
          });
          to[o] = sum * weight[o];
        }
        weight += line.w.out;
      });
      y.store();
    });
  });
}

Kernel average_pool_grad_kernel(DType dtype, const Pool& p) {
  return with_floating("average_pool_grad", dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using C = compute_type<T>;
    const WindowAxis& w = p.axes[2];
    WorkspaceLayout workspace;
    const PlaneBuffer<T> operand(workspace, p.out_size()), result(workspace, input_size(p.axes));
    const auto scaled = workspace.per_thread<C>(w.out);
    return by_plane(p, workspace,
                    [=, weights = window_weights<C>(p), steps = Steps(w)](const Buffers& b, int64_t plane) {
                      const C* from = operand.load(b, 0, plane);
                      const ResultPlane<T> to(b, plane, result);
                      std::fill(to.data, to.data + to.size, C(0));
                      const C* weight = weights.data();
                      C* const shares = b.workspace(scaled);
                      each_row(p, [&](int64_t start, int64_t od, int64_t oh) {
                        for (int64_t o = 0; o < w.out; ++o) shares[o] = from[start + o] * *weight++;
                        each_input_row(p, w.in, od, oh, [&](int64_t row) {
                          each_element(w, steps, [&](int64_t o, int64_t i) { to.data[row + i] += shares[o]; });
                        });
                      });
                      to.store();
                    });
  });
}

}  // namespace pxl
