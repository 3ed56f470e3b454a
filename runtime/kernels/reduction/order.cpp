// Arg-reductions, cumulative sums and products, histograms.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>

#include "runtime/kernels/block/block.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/convolution/partial_sums.hpp"
#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/kernels/reduction/axis_lines.hpp"
#include "runtime/kernels/reduction/rank.hpp"
#include "runtime/kernels/reduction/reduce.hpp"

namespace pxl {
namespace {

/// The value as which an element is compared.
template <class T>
compute_type<T> key(T x) {
  return static_cast<compute_type<T>>(x);
}

/// Ascending order, NaN last.
template <class K>
bool before(K a, K b) {
  if constexpr (std::is_floating_point_v<K>)
    return a < b || (b != b && a == a);
  else
    return a < b;
}

/// Number of lines, adjacent in memory, that are processed together.
constexpr int64_t lines_at_once = 64;

/// A kernel that calls f(buffers, start of the first line, its start in a result with extent k, lines) for groups of at
/// most lines_at_once adjacent lines. Element i of line c is at `i * inner + c`.
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

/// The first position of a short line's extreme; a NaN is the extreme.
template <class T>
int32_t arg_of_short_line(bool largest, const T* x, int64_t n) {
  T best = x[0];
  int32_t at = 0;
  for (int64_t i = 1; i < n; ++i) {
    const bool better = (best == best) & ((x[i] != x[i]) | (largest ? x[i] > best : x[i] < best));
    best = better ? x[i] : best;
    at = better ? static_cast<int32_t>(i) : at;
  }
  return at;
}

/// The first position of the extreme in each contiguous line. The kernel finds the extreme, then its first position. If
/// an element is NaN, the extreme is NaN, and the position is that of the first NaN.
template <class T>
Kernel arg_of_lines(bool largest, const AxisLines& lines) {
  const auto position = [largest](const T* x, int64_t n) {
    if constexpr (std::is_integral_v<T>) {
      T extreme;
      integer_blocks().extreme(largest, dtype_of<T>())(x, &extreme, n);
      return integer_blocks().find(sizeof(T))(x, &extreme, n);
    } else if constexpr (std::is_same_v<T, float>)
      return bulk().find32(x, n, largest ? bulk().max32(x, n) : bulk().min32(x, n));
    else
      return bulk().find64(x, n, largest ? bulk().max64(x, n) : bulk().min64(x, n));
  };
  constexpr int64_t short_line = 8;
  const double cost = 0.3 * static_cast<double>(lines.outer) * static_cast<double>(lines.extent);
  return Kernel::parallel(lines.outer, 1, cost, [=](const Buffers& b, int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) {
      const T* x = b.input<T>(0) + o * lines.extent;
      b.output<int32_t>(0)[o] = lines.extent <= short_line ? arg_of_short_line(largest, x, lines.extent)
                                                           : static_cast<int32_t>(position(x, lines.extent));
    }
  });
}

}  // namespace

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
    if constexpr (!is_narrow_v<T>)
      if (lines.inner == 1) return arg_of_lines<T>(largest, lines);
    return side_by_side(lines, 1, [lines, largest](const Buffers& b, int64_t from, int64_t to, int64_t width) {
      const T* x = b.input<T>(0) + from;
      int32_t* out = b.output<int32_t>(0) + to;
      compute_type<T> best[lines_at_once];
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

namespace {

template <int64_t n>
using Fixed = std::integral_constant<int64_t, n>;

/// Running sums or products of `together` lines, which begin `line` apart and do not wait for each other. Extents that
/// are known are Fixed.
template <bool product, class Sum, class T, class Lines, class Apart>
void run_along(const T* x, T* out, int64_t n, int64_t step, Lines together, Apart line, bool exclusive) {
  Sum totals[lines_at_once];
  std::fill_n(totals, int64_t{together}, static_cast<Sum>(product ? 1 : 0));
  for (int64_t i = 0; i < n; ++i, x += step, out += step)
    for (int64_t c = 0; c < together; ++c) {
      const Sum old = totals[c], v = static_cast<Sum>(key(x[c * line]));
      totals[c] = product ? old * v : old + v;
      const Sum value = exclusive ? old : totals[c];
      if constexpr (is_narrow_v<T>)
        out[c * line] = T(static_cast<float>(value));
      else
        out[c * line] = static_cast<T>(value);
    }
}

/// Running sums or products of a line of float32 or narrower numbers. Four elements are joined before their total is,
/// so that they do not wait for it; four of them do not overflow float64.
template <bool product, class T>
void run_in_fours(const T* x, T* out, int64_t n, int64_t step, bool exclusive) {
  const auto joined = [](double a, double b) { return product ? a * b : a + b; };
  const auto value_at = [&](int64_t i) { return static_cast<double>(key(x[i * step])); };
  const auto put = [&](int64_t i, double before, double after) {
    out[i * step] = static_cast<T>(static_cast<float>(exclusive ? before : after));
  };
  double total = product ? 1 : 0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const double first = value_at(i), two = joined(first, value_at(i + 1)), third = value_at(i + 2);
    const double three = joined(two, third), four = joined(two, joined(third, value_at(i + 3)));
    const double a = joined(total, first), b = joined(total, two), c = joined(total, three), d = joined(total, four);
    put(i, total, a), put(i + 1, a, b), put(i + 2, b, c), put(i + 3, c, d);
    total = d;
  }
  for (; i < n; ++i) {
    const double next = joined(total, value_at(i));
    put(i, total, next);
    total = next;
  }
}

template <bool product, class T>
Kernel running_of(const AxisLines& lines, bool exclusive, bool reverse) {
  // Floating dtypes accumulate in float64; integers wrap.
  using Sum = std::conditional_t<std::is_integral_v<T>, uint64_t, double>;
  const int64_t n = lines.extent, step = reverse ? -lines.inner : lines.inner;
  const int64_t first = reverse && n > 0 ? (n - 1) * lines.inner : 0;
  if (lines.inner > 1)
    return side_by_side(lines, n, [=](const Buffers& b, int64_t from, int64_t, int64_t width) {
      run_along<product, Sum>(b.input<T>(0) + from + first, b.output<T>(0) + from + first, n, step, width, Fixed<1>{},
                              exclusive);
    });
  constexpr Fixed<4> together;
  const double cost = static_cast<double>(lines.outer) * static_cast<double>(n);
  return Kernel::parallel(lines.outer, together, cost, [=](const Buffers& b, int64_t begin, int64_t end) {
    const auto run_lines = [&](int64_t o, auto count) {
      const int64_t at = o * n + first;
      run_along<product, Sum>(b.input<T>(0) + at, b.output<T>(0) + at, n, step, count, n, exclusive);
    };
    int64_t o = begin;
    for (; o + together <= end; o += together) run_lines(o, together);
    for (; o < end; ++o) {
      if constexpr (std::is_floating_point_v<compute_type<T>> && sizeof(T) < sizeof(double))
        run_in_fours<product>(b.input<T>(0) + o * n + first, b.output<T>(0) + o * n + first, n, step, exclusive);
      else
        run_lines(o, Fixed<1>{});
    }
  });
}

/// Signed integers are taken for unsigned ones of their size: sums and products that wrap have the same bits.
template <bool product>
Kernel running_kernel(const TensorSpec& in, int64_t axis, bool exclusive, bool reverse) {
  const AxisLines lines(in.shape, axis);
  if (in.dtype == DType::boolean)
    throw Error(std::string(product ? "cumprod" : "cumsum") + " is not defined for bool", {"cast to int32 first"})
        .as(codes::dtype);
  return with_type(in.dtype, [&]<class T>(type_tag<T>) {
    if constexpr (std::is_integral_v<T>)
      return running_of<product, unsigned_of<sizeof(T)>>(lines, exclusive, reverse);
    else
      return running_of<product, T>(lines, exclusive, reverse);
  });
}

}  // namespace

Kernel cumsum_kernel(const TensorSpec& in, int64_t axis, bool exclusive, bool reverse) {
  return running_kernel<false>(in, axis, exclusive, reverse);
}
Kernel cumprod_kernel(const TensorSpec& in, int64_t axis, bool exclusive, bool reverse) {
  return running_kernel<true>(in, axis, exclusive, reverse);
}

namespace {

/// Counts how many increasing levels are at most a value. The range is divided into cells of equal width, and each cell
/// names the level at which the search begins. That level is taken from the preceding cell, so that rounding skips
/// none. The first and the last cell hold values outside the range.
class Levels {
 public:
  explicit Levels(const std::vector<double>& levels) : count_(std::ssize(levels)), levels_(levels) {
    levels_.push_back(std::numeric_limits<double>::quiet_NaN());  // no value reaches it
    if (levels.empty()) return;
    const double width = (levels.back() - levels.front()) / cells;
    if (width > 0 && std::isfinite(1 / width) && std::isfinite(levels.front())) per_width_ = 1 / width;
    first_ = levels.front();
    for (int64_t c = 0, at = 0; c <= cells; ++c) {
      const double begin = first_ + static_cast<double>(c - 1) * width;
      while (per_width_ > 0 && at + 1 < count_ && levels[static_cast<size_t>(at + 1)] <= begin) ++at;
      start_[static_cast<size_t>(c + 1)] = static_cast<int32_t>(at);
    }
  }
  int64_t below(double v) const {
    const double distance = (v - first_) * per_width_, at_least = distance > -1 ? distance : -1;  // NaN: -1
    const double cell = at_least < cells ? at_least : cells;
    const double* levels = levels_.data();
    int64_t at = start_[static_cast<size_t>(static_cast<int32_t>(cell) + 1)];
    // Most cells hold at most one level: two steps without a branch.
    at += levels[at] <= v ? 1 : 0;
    at += levels[at] <= v ? 1 : 0;
    while (levels[at] <= v) ++at;
    return v == v ? at : count_;
  }

 private:
  static constexpr int64_t cells = 1024;
  int64_t count_;
  std::vector<double> levels_;
  double first_ = 0, per_width_ = 0;
  std::array<int32_t, cells + 2> start_{};
};

}  // namespace

Kernel histogram_kernel(const TensorSpec& in, const std::vector<double>& levels, bool absolute) {
  for (size_t i = 1; i < levels.size(); ++i) {
    if (!(levels[i - 1] < levels[i]))
      throw Error("the levels of a histogram must increase",
                  {"level " + std::to_string(i) + " is not above the one before"});
  }
  // Counts per chunk, and their sums. The number of chunks depends on the size only.
  constexpr int64_t least = 1 << 14, most = 16;
  const int64_t n = in.size(), parts = std::clamp<int64_t>(n / least, 1, most), bins = std::ssize(levels) + 1;
  WorkspaceLayout workspace;
  const auto counts = workspace.per_call<uint32_t>(parts * bins);
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    const Phase count{
        parts, 1, [=, places = std::make_shared<const Levels>(levels)](const Buffers& b, int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            uint32_t* to = b.workspace(counts) + p * bins;
            std::fill(to, to + bins, 0u);
            for (int64_t i = n * p / parts; i < n * (p + 1) / parts; ++i) {
              const double v = static_cast<double>(key(b.input<T>(0)[i]));
              ++to[places->below(absolute ? std::fabs(v) : v)];
            }
          }
        }};
    return Kernel::parallel({count, partial_sums_phase(counts, parts, bins)}, 3 * static_cast<double>(n))
        .with_workspace(workspace);
  });
}

}  // namespace pxl
