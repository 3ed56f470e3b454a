// Medians, by selection among the elements' ranks.
#include <algorithm>
#include <array>

#include "runtime/kernels/elementwise/broadcast.hpp"
#include "runtime/kernels/reduction/axis_lines.hpp"
#include "runtime/kernels/reduction/rank.hpp"
#include "runtime/kernels/reduction/reduce.hpp"

namespace pxl {
namespace {

// Minimum number of elements for which digits are counted; below it, elements are compared.
constexpr int64_t min_counted = 512;

/// Element k of the sorted ranks, found byte by byte from the highest. The ranks that agree so far are kept in front.
template <class Bits>
Bits select_rank(Bits* ranks, int64_t n, int64_t k) {
  for (int shift = 8 * static_cast<int>(sizeof(Bits)) - 8; shift >= 0 && n >= min_counted; shift -= 8) {
    const auto digit = [shift](Bits rank) { return static_cast<uint8_t>(rank >> shift); };
    // Tables that are used in turn: neighbours often have the same digit, and an increment would wait for the previous
    // one.
    constexpr int64_t tables = 4;
    std::array<std::array<int32_t, 256>, tables> counts{};
    int64_t i = 0;
    for (; i + tables <= n; i += tables)
      for (int64_t t = 0; t < tables; ++t) ++counts[static_cast<size_t>(t)][digit(ranks[i + t])];
    for (; i < n; ++i) ++counts[0][digit(ranks[i])];
    size_t found = 0;
    for (;; ++found) {
      int64_t count = 0;
      for (const auto& table : counts) count += table[found];
      if (k < count) break;
      k -= count;
    }
    int64_t kept = 0;
    for (i = 0; i < n; ++i) {
      const Bits rank = ranks[i];
      ranks[kept] = rank;
      kept += digit(rank) == found ? 1 : 0;
    }
    n = kept;
  }
  std::nth_element(ranks, ranks + k, ranks + n);
  return ranks[k];
}

}  // namespace

Kernel median_kernel(const TensorSpec& in, const std::vector<int64_t>& axes) {
  const Shape out = reduced_shape(in.shape, axes, true), strides = strides_of(in.shape);
  Shape kept, kept_strides, gone, gone_strides;
  std::vector<bool> reduced(in.shape.size(), false);
  for (int64_t a : axes) reduced[static_cast<size_t>(normalise_axis(a, static_cast<int64_t>(in.shape.size())))] = true;
  for (size_t i = 0; i < in.shape.size(); ++i) {
    (reduced[i] ? gone : kept).push_back(in.shape[i]);
    (reduced[i] ? gone_strides : kept_strides).push_back(strides[i]);
  }
  const int64_t count = element_count(gone), lines = element_count(kept);
  if (count == 0 && element_count(out) > 0)
    throw Error("median of no elements (shape " + bracket_text(in.shape) + ")").as(codes::shape);
  check_index_range(count);
  return with_type(in.dtype, [&](auto tag) -> Kernel {
    using T = typename decltype(tag)::type;
    using Bits = unsigned_of<sizeof(T)>;
    WorkspaceLayout workspace;
    const auto of_line = workspace.per_thread<Bits>(count);
    const auto part = [=, of_lines = make_loop_nest(kept, {kept_strides}), nest = make_loop_nest(gone, {gone_strides})](
                          const Buffers& b, int64_t begin, int64_t end) {
      Bits* ranks = b.workspace(of_line);
      for (int64_t line = begin; line < end; ++line) {
        int64_t start = 0;
        for (size_t d = of_lines.extents.size(), rest = static_cast<size_t>(line); d-- > 0;) {
          const auto extent = static_cast<size_t>(of_lines.extents[d]);
          start += static_cast<int64_t>(rest % extent) * of_lines.strides[0][d];
          rest /= extent;
        }
        const T* x = b.input<T>(0) + start;
        const int64_t step = nest.inner_stride(0);
        Bits* to = ranks;
        for_each_run<1>(nest, [&](const auto& at, int64_t n) {
          const T* from = x + at[0];
          if (step == 1)
            for (int64_t i = 0; i < n; ++i) to[i] = rank_of(from[i]);
          else
            for (int64_t i = 0; i < n; ++i) to[i] = rank_of(from[i * step]);
          to += n;
        });
        // A NaN, which has the last rank, is the median of its line.
        constexpr Bits nan_rank = static_cast<Bits>(~Bits{0});
        const bool is_nan = !std::is_integral_v<T> && std::find(ranks, ranks + count, nan_rank) != ranks + count;
        const Bits middle = is_nan ? nan_rank : select_rank(ranks, count, (count - 1) / 2);
        // The first among equal elements.
        int64_t first = -1, place = 0, position = 0;
        for_each_run<1>(nest, [&](const auto& at, int64_t n) {
          for (int64_t i = 0; i < n && first < 0; ++i)
            if (rank_of(x[at[0] + i * step]) == middle) first = position + i, place = at[0] + i * step;
          position += n;
        });
        b.output<T>(0)[line] = x[place];
        if (b.out[1]) b.output<int32_t>(1)[line] = static_cast<int32_t>(first);
      }
    };
    return Kernel::parallel(lines, 1, 3 * static_cast<double>(in.size()), part).with_workspace(workspace);
  });
}

}  // namespace pxl
