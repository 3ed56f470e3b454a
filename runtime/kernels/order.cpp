// Medians, arg-reductions, cumulative sums, histograms.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>

#include "runtime/kernels/axis_lines.hpp"
#include "runtime/kernels/elementwise.hpp"
#include "runtime/kernels/reduce.hpp"

namespace pxl {
namespace {

/// What a dtype is compared as.
template <class T>
using key_of = std::conditional_t<std::is_same_v<T, half>, float, T>;
template <class T>
key_of<T> key(T x) {
  return static_cast<key_of<T>>(x);
}

/// Ascending order, NaN last.
template <class K>
bool before(K a, K b) {
  if constexpr (std::is_floating_point_v<K>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

/// Lines that are adjacent in memory and are processed together. Not measured.
constexpr int64_t lines_at_once = 64;

/// A kernel that calls f(buffers, start of the first line, its start in the result of extent k, lines) for groups of at
/// most lines_at_once adjacent lines: element i of line c is at `i * inner + c`.
template <class F>
Kernel side_by_side(const AxisLines& lines, int64_t k, F f) {
  const int64_t groups = (lines.inner + lines_at_once - 1) / lines_at_once;
  const double cost = static_cast<double>(lines.outer * lines.extent) * static_cast<double>(lines.inner);
  return Kernel::parallel(lines.outer * groups, 1, cost, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t u = begin; u < end; ++u) {
      const int64_t o = u / groups, c = u % groups * lines_at_once, first = o * lines.inner;
      f(b, first * lines.extent + c, first * k + c, std::min(lines_at_once, lines.inner - c));
    }
  });
}

}  // namespace

Kernel median_kernel(const TensorSpec& in, const std::vector<int64_t>& axes) {
  const Shape out = reduced_shape(in.shape, axes, true);
  Shape kept, kept_strides, gone, gone_strides;
  const Shape strides = strides_of(in.shape);
  std::vector<bool> reduced(in.shape.size(), false);
  for (int64_t a : axes) reduced[static_cast<size_t>(normalise_axis(a, static_cast<int64_t>(in.shape.size())))] = true;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    (reduced[i] ? gone : kept).push_back(in.shape[i]);
    (reduced[i] ? gone_strides : kept_strides).push_back(strides[i]);
  }
  // Offsets of the results, and of the reduced elements relative to them, in row-major order.
  const auto offsets = [](const Shape& extents, const Shape& by) {
    std::vector<int64_t> all{0};
    for (size_t d = 0; d < extents.size(); ++d) {
      std::vector<int64_t> next;
      next.reserve(all.size() * static_cast<size_t>(extents[d]));
      for (int64_t base : all) {
        for (int64_t i = 0; i < extents[d]; ++i) next.push_back(base + i * by[d]);
      }
      all = std::move(next);
    }
    return all;
  };
  const int64_t count = element_count(gone);
  if (count == 0 && element_count(out) > 0)
    throw Error("median of no elements (shape " + bracket_text(in.shape) + ")").as(codes::shape);
  check_index_range(count);
  WorkspaceLayout workspace;
  const auto permutation = workspace.per_call<int32_t>(count);
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return Kernel([=, starts = offsets(kept, kept_strides), steps = offsets(gone, gone_strides)](const Buffers& b) {
             const T* x = b.input<T>(0);
             int32_t* order = b.workspace(permutation);
             const auto at = [&](size_t line, int32_t i) {
               return key(x[starts[line] + steps[static_cast<size_t>(i)]]);
             };
             for (size_t line = 0; line < starts.size(); ++line) {
               std::iota(order, order + steps.size(), 0);
               int32_t* middle = order + (steps.size() - 1) / 2;
               std::nth_element(order, middle, order + steps.size(), [&](int32_t i, int32_t j) {
                 const auto p = at(line, i), q = at(line, j);
                 return before(p, q) || (!before(q, p) && i < j);
               });
               // Of equal elements, the first.
               int32_t first = *middle;
               for (int32_t i = 0; i < first; ++i) {
                 if (!before(at(line, i), at(line, *middle)) && !before(at(line, *middle), at(line, i))) first = i;
               }
               b.output<T>(0)[line] = x[starts[line] + steps[static_cast<size_t>(first)]];
               if (b.out[1]) b.output<int32_t>(1)[line] = first;
             }
           })
        .with_workspace(workspace);
  });
}

Kernel arg_kernel(bool largest, const TensorSpec& in, int64_t axis) {
  const AxisLines lines(in.shape, axis);
  check_index_range(lines.extent);
  if (lines.extent == 0 && lines.outer * lines.inner > 0) {
    throw Error(std::string(largest ? "argmax" : "argmin") + " over an axis of no elements (shape " +
                bracket_text(in.shape) + ")")
        .as(codes::shape);
  }
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return side_by_side(lines, 1, [lines, largest](const Buffers& b, int64_t from, int64_t to, int64_t width) {
      const T* x = b.input<T>(0) + from;
      int32_t* out = b.output<int32_t>(0) + to;
      key_of<T> best[lines_at_once];
      for (int64_t c = 0; c < width; ++c) best[c] = key(x[c]), out[c] = 0;
      for (int64_t i = 1; i < lines.extent; ++i)
        for (int64_t c = 0; c < width; ++c) {
          const auto v = key(x[i * lines.inner + c]);
          // The first NaN is the result, whatever follows.
          if (best[c] == best[c] && (v != v || (largest ? v > best[c] : v < best[c]))) {
            best[c] = v;
            out[c] = static_cast<int32_t>(i);
          }
        }
    });
  });
}

Kernel cumsum_kernel(const TensorSpec& in, int64_t axis, bool exclusive, bool reverse) {
  const AxisLines lines(in.shape, axis);
  if (in.dtype == DType::boolean)
    throw Error("cumsum is not defined for bool", {"cast to int32 first"}).as(codes::dtype);
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    // Floating dtypes accumulate in float64; integers wrap, as unsigned.
    using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
    return side_by_side(lines, lines.extent, [=](const Buffers& b, int64_t from, int64_t, int64_t width) {
      const T* x = b.input<T>(0) + from;
      T* out = b.output<T>(0) + from;
      Sum sums[lines_at_once] = {};
      for (int64_t i = 0; i < lines.extent; ++i) {
        const int64_t at = (reverse ? lines.extent - 1 - i : i) * lines.inner;
        for (int64_t c = 0; c < width; ++c) {
          const Sum next = sums[c] + static_cast<Sum>(key(x[at + c]));
          const Sum value = exclusive ? sums[c] : next;
          if constexpr (std::is_same_v<T, half>)
            out[at + c] = half(static_cast<float>(value));
          else
            out[at + c] = static_cast<T>(value);
          sums[c] = next;
        }
      }
    });
  });
}

Kernel histogram_kernel(const TensorSpec& in, const std::vector<double>& levels, bool absolute) {
  for (size_t i = 1; i < levels.size(); ++i) {
    if (!(levels[i - 1] < levels[i]))
      throw Error("the levels of a histogram must increase",
                  {"level " + std::to_string(i) + " is not above the one before"});
  }
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    return [levels, absolute, n = in.size()](const Buffers& b) {
      uint32_t* out = b.output<uint32_t>(0);
      std::fill(out, out + levels.size() + 1, 0u);
      for (int64_t i = 0; i < n; ++i) {
        const double v = static_cast<double>(key(b.input<T>(0)[i]));
        ++out[std::upper_bound(levels.begin(), levels.end(), absolute ? std::fabs(v) : v) - levels.begin()];
      }
    };
  });
}

}  // namespace pxl
