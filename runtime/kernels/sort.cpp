// Sorting and the k best elements, along an axis.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "runtime/kernels/axis_lines.hpp"
#include "runtime/kernels/radix_sort.hpp"
#include "runtime/kernels/rank.hpp"
#include "runtime/kernels/reduce.hpp"

namespace pxl {
namespace {

// Number of elements from which on digits are counted rather than elements compared: for random numbers of 32 bits it
// takes half of the time from 48 on, measured with AVX-512.
template <class T>
constexpr int64_t min_radix_sort = 12 * static_cast<int64_t>(sizeof(T));

// Largest k for which top-k keeps a sorted list in one pass; above it, the line is sorted. Not measured.
constexpr int64_t max_insertion_k = 32;

/// The best k of each line, best first; ties by index.
template <class T>
Kernel ordered(AxisLines slices, int64_t k, bool descending) {
  using Bits = unsigned_of<sizeof(T)>;
  using Entry = RankedItem<Bits>;
  const bool few = k <= max_insertion_k && k < slices.extent;
  const bool radix = !few && slices.extent >= min_radix_sort<T>;
  const double log_extent = std::log2(static_cast<double>(slices.extent) + 2);
  const double of_element = few ? 2.0 : radix ? 4.0 * sizeof(T) : 4.0 * log_extent;
  const int64_t count = slices.outer * slices.inner;
  WorkspaceLayout workspace;
  const auto kept_items = workspace.per_thread<Entry>(few ? k : slices.extent);
  const auto other_items = workspace.per_thread<Entry>(radix ? slices.extent : 0);
  const auto sort_lines = [=](const Buffers& b, int64_t begin, int64_t end) {
    const auto entry = [descending](T x, int64_t j) {
      const Bits rank = rank_of(x);
      return Entry{descending ? static_cast<Bits>(~rank) : rank, static_cast<int32_t>(j)};
    };
    for (int64_t line = begin; line < end; ++line) {
      const int64_t o = line / slices.inner, i = line % slices.inner;
      const T* x = b.input<T>(0) + o * slices.extent * slices.inner + i;
      Entry* items = b.workspace(kept_items);
      int64_t kept = 0;
      for (int64_t j = 0; j < slices.extent && k > 0; ++j) {
        const Entry item = entry(x[j * slices.inner], j);
        if (!few) {
          items[kept++] = item;
          continue;
        }
        if (kept == k && item.rank >= items[k - 1].rank) continue;
        int64_t place = kept < k ? kept++ : k - 1;
        for (; place > 0 && item.rank < items[place - 1].rank; --place) items[place] = items[place - 1];
        items[place] = item;
      }
      if (radix && kept > 0)
        items = radix_sort(items, b.workspace(other_items), kept);
      else if (!few)
        std::partial_sort(items, items + k, items + kept);
      const int64_t to = o * k * slices.inner + i;
      for (int64_t j = 0; j < k; ++j) {
        b.output<T>(0)[to + j * slices.inner] = x[items[j].index * slices.inner];
        if (b.out[1]) b.output<int32_t>(1)[to + j * slices.inner] = items[j].index;
      }
    }
  };
  return Kernel::parallel(count, 1, of_element * static_cast<double>(slices.extent * count), sort_lines)
      .with_workspace(workspace);
}

}  // namespace

Kernel topk_kernel(const TensorSpec& in, int64_t axis, int64_t k, bool largest) {
  const AxisLines slices(in.shape, axis);
  check_index_range(slices.extent);
  if (k < 0 || k > slices.extent) {
    throw Error("top " + std::to_string(k) + " of an axis of " + std::to_string(slices.extent) + " elements")
        .as(codes::shape);
  }
  return with_type(in.dtype,
                   [&](auto tag) -> Kernel { return ordered<typename decltype(tag)::type>(slices, k, largest); });
}

Kernel sort_kernel(const TensorSpec& in, int64_t axis, bool descending) {
  return topk_kernel(in, axis, AxisLines(in.shape, axis).extent, descending);
}

}  // namespace pxl
