// Sorting and the k best elements, along an axis.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/reduction/axis_lines.hpp"
#include "runtime/kernels/reduction/radix_sort.hpp"
#include "runtime/kernels/reduction/rank.hpp"
#include "runtime/kernels/reduction/reduce.hpp"

namespace pxl {
namespace {

// Minimum number of elements for which digits are counted; below it, elements are compared. Counting takes half of the
// time for 48 or more random 32-bit numbers, measured with AVX-512.
template <class T>
constexpr int64_t min_radix_sort = 12 * static_cast<int64_t>(sizeof(T));

/// The k-th smallest number, and how many numbers are smaller.
template <class Bits>
struct Kth {
  Bits value;
  int64_t below;
};
/// Finds it for 1 <= k <= n. Numbers are counted by the 8 highest bits in which they differ. Numbers with the k-th's
/// bits stay, in `other`, which holds n numbers.
template <class Bits>
Kth<Bits> kth_smallest(const Bits* x, Bits* other, int64_t n, int64_t k) {
  const ExtremeFn lowest = integer_blocks().extreme(false, dtype_of<Bits>()),
                  highest = integer_blocks().extreme(true, dtype_of<Bits>());
  for (int64_t below = 0;;) {
    Bits least, most;
    lowest(x, &least, n);
    highest(x, &most, n);
    if (least == most) return {least, below};
    const int width = std::bit_width(static_cast<Bits>(most - least)), shift = std::max(0, width - 8);
    const auto digit = [=](Bits v) { return static_cast<size_t>(static_cast<Bits>(v - least) >> shift); };
    std::array<int32_t, 256> counts{};
    for (int64_t i = 0; i < n; ++i) ++counts[digit(x[i])];
    size_t of_kth = 0;
    for (; counts[of_kth] < k; ++of_kth) k -= counts[of_kth], below += counts[of_kth];
    if (shift == 0) return {static_cast<Bits>(least + of_kth), below};
    int64_t kept = 0;
    for (int64_t i = 0; i < n; ++i) {
      const Bits v = x[i];
      other[kept] = v;
      kept += digit(v) == of_kth ? 1 : 0;
    }
    x = other;
    n = kept;
  }
}

// Largest k for which top-k keeps a sorted list in one pass; above it, the k-th is searched first.
constexpr int64_t max_insertion_k = 32;
constexpr int64_t ranked_block = 256;   ///< elements of a line whose ranks are compared with the k-th at once
constexpr int64_t gathered_lines = 16;  ///< adjacent lines that are read together: a cache line of float32
/// Maximum bytes of lines that are read together; larger lines are read one by one.
constexpr int64_t max_gathered_bytes = 1 << 20;

/// The best k of each line, best first; ties by index.
template <class T>
class Ordered {
  using Bits = unsigned_of<sizeof(T)>;
  using Entry = RankedItem<Bits>;

 public:
  Ordered(AxisLines lines, int64_t k, bool descending)
      : lines_(lines),
        k_(k),
        few_(k <= max_insertion_k && k < lines.extent),
        some_(!few_ && k < lines.extent),
        rank_(integer_blocks().ranks(dtype_of<T>(), descending)),
        smallest_(integer_blocks().extreme(false, dtype_of<Bits>())) {
    const auto bytes = static_cast<int64_t>(sizeof(T));
    if (lines.inner > 1 && lines.extent * bytes * gathered_lines <= max_gathered_bytes)
      together_ = std::min(gathered_lines, lines.inner);
    gathered_ = workspace_.per_thread<T>(lines.inner > 1 ? together_ * lines.extent : 0);
    places_ = workspace_.per_thread<int32_t>(lines.inner > 1 ? together_ * k : 0);
    ranks_ = workspace_.per_thread<Bits>(few_ ? ranked_block : lines.extent);
    others_ = workspace_.per_thread<Bits>(some_ ? lines.extent : 0);
    equals_ = workspace_.per_thread<int32_t>(some_ ? k + 1 : 0);
    items_ = workspace_.per_thread<Entry>(k + 1);
    sorted_ = workspace_.per_thread<Entry>(k >= min_radix_sort<T> ? k : 0);
  }

  Kernel kernel() const {
    const int64_t count = lines_.outer * lines_.inner;
    const double of_element = few_ ? 1.0 : some_ ? 4.0 : 4.0 * sizeof(T);
    return Kernel::parallel(count, 1, of_element * static_cast<double>(lines_.extent * count),
                            [self = *this](const Buffers& b, int64_t begin, int64_t end) {
                              for (int64_t line = begin; line < end;) line += self.some_lines(b, line, end);
                            })
        .with_workspace(workspace_);
  }

 private:
  /// Orders adjacent lines, starting at `line`. Returns their number.
  int64_t some_lines(const Buffers& b, int64_t line, int64_t end) const {
    const int64_t o = line / lines_.inner, i = line % lines_.inner;
    const int64_t count = std::min({together_, lines_.inner - i, end - line});
    const T* x = b.input<T>(0) + o * lines_.extent * lines_.inner + i;
    if (k_ == 0) return count;
    if (lines_.inner > 1) {
      T* to = b.workspace(gathered_);
      for (int64_t j = 0; j < lines_.extent; ++j)
        for (int64_t l = 0; l < count; ++l) to[l * lines_.extent + j] = x[j * lines_.inner + l];
      x = to;
    }
    T* values = b.output<T>(0) + o * k_ * lines_.inner + i;
    int32_t* indices = b.out[1] ? b.output<int32_t>(1) + o * k_ * lines_.inner + i : nullptr;
    if (lines_.inner == 1) {
      const Entry* best = best_of(b, x);
      for (int64_t j = 0; j < k_; ++j) values[j] = x[best[j].index];
      for (int64_t j = 0; indices && j < k_; ++j) indices[j] = best[j].index;
      return count;
    }
    int32_t* places = b.workspace(places_);
    for (int64_t l = 0; l < count; ++l) {
      const Entry* best = best_of(b, x + l * lines_.extent);
      for (int64_t j = 0; j < k_; ++j) places[l * k_ + j] = best[j].index;
    }
    for (int64_t j = 0; j < k_; ++j)
      for (int64_t l = 0; l < count; ++l) {
        const int32_t place = places[l * k_ + j];
        values[j * lines_.inner + l] = x[l * lines_.extent + place];
        if (indices) indices[j * lines_.inner + l] = place;
      }
    return count;
  }

  const Entry* best_of(const Buffers& b, const T* x) const {
    return few_ ? best_by_insertion(b, x) : some_ ? best_by_selection(b, x) : sorted_line(b, x);
  }

  /// Most blocks of a long line have no element that is better than the present k best.
  const Entry* best_by_insertion(const Buffers& b, const T* x) const {
    Bits* ranks = b.workspace(ranks_);
    Entry* items = b.workspace(items_);
    int64_t kept = 0;
    for (int64_t first = 0; first < lines_.extent; first += ranked_block) {
      const int64_t n = std::min(ranked_block, lines_.extent - first);
      rank_(x + first, ranks, n);
      if (kept == k_) {
        Bits least;
        smallest_(ranks, &least, n);
        if (least >= items[k_ - 1].rank) continue;
      }
      for (int64_t j = 0; j < n; ++j) {
        const Entry item{ranks[j], static_cast<int32_t>(first + j)};
        if (kept == k_ && item.rank >= items[k_ - 1].rank) continue;
        int64_t place = kept < k_ ? kept++ : k_ - 1;
        for (; place > 0 && item.rank < items[place - 1].rank; --place) items[place] = items[place - 1];
        items[place] = item;
      }
    }
    return items;
  }

  /// The elements smaller than the k-th are sorted. The remaining places of k hold elements equal to the k-th.
  const Entry* best_by_selection(const Buffers& b, const T* x) const {
    Bits* ranks = b.workspace(ranks_);
    Entry* items = b.workspace(items_);
    int32_t* equals = b.workspace(equals_);
    rank_(x, ranks, lines_.extent);
    const auto [limit, below] = kth_smallest<Bits>(ranks, b.workspace(others_), lines_.extent, k_);
    const int64_t wanted = k_ - below;
    int64_t kept = 0, equal = 0;
    for (int64_t j = 0; j < lines_.extent; ++j) {
      items[kept] = {ranks[j], static_cast<int32_t>(j)};
      equals[equal] = static_cast<int32_t>(j);
      kept += ranks[j] < limit ? 1 : 0;
      equal += ((ranks[j] == limit) & (equal < wanted)) ? 1 : 0;
    }
    Entry* best = sorted(b, items, below);
    for (int64_t e = 0; e < wanted; ++e) best[below + e] = {limit, equals[e]};
    return best;
  }

  const Entry* sorted_line(const Buffers& b, const T* x) const {
    Bits* ranks = b.workspace(ranks_);
    Entry* items = b.workspace(items_);
    rank_(x, ranks, lines_.extent);
    for (int64_t j = 0; j < lines_.extent; ++j) items[j] = {ranks[j], static_cast<int32_t>(j)};
    return sorted(b, items, lines_.extent);
  }

  /// Sorts n items, which are in the order of their indices, by rank.
  Entry* sorted(const Buffers& b, Entry* items, int64_t n) const {
    if (n >= min_radix_sort<T>) return radix_sort(items, b.workspace(sorted_), n);
    std::sort(items, items + n);
    return items;
  }

  AxisLines lines_;
  int64_t k_, together_ = 1;
  bool few_, some_;
  UnaryBlock rank_;
  ExtremeFn smallest_;
  WorkspaceLayout workspace_;
  PerThread<T> gathered_;
  PerThread<Bits> ranks_, others_;
  PerThread<int32_t> equals_, places_;
  PerThread<Entry> items_, sorted_;
};

}  // namespace

Kernel topk_kernel(const TensorSpec& in, int64_t axis, int64_t k, bool largest) {
  const AxisLines slices(in.shape, axis);
  check_index_range(slices.extent);
  if (k < 0 || k > slices.extent) {
    throw Error("top " + std::to_string(k) + " of an axis of " + std::to_string(slices.extent) + " elements")
        .as(codes::shape);
  }
  return with_type(
      in.dtype, [&](auto tag) -> Kernel { return Ordered<typename decltype(tag)::type>(slices, k, largest).kernel(); });
}

Kernel sort_kernel(const TensorSpec& in, int64_t axis, bool descending) {
  return topk_kernel(in, axis, AxisLines(in.shape, axis).extent, descending);
}

}  // namespace pxl
