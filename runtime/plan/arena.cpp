// Greedy-by-size placement of live intervals.
#include "runtime/plan/arena.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pxl {

int64_t assign_offsets(std::vector<Interval>& intervals) {
  const auto aligned = [](int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; };
  std::vector<size_t> by_size(intervals.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  std::vector<size_t> placed;  // by offset
  placed.reserve(intervals.size());
  int64_t total = 0;
  for (size_t index : by_size) {
    Interval& buffer = intervals[index];
    const int64_t need = aligned(buffer.bytes);
    int64_t best = -1, best_gap = std::numeric_limits<int64_t>::max(), end = 0;
    for (size_t other_index : placed) {
      const Interval& other = intervals[other_index];
      if (other.last < buffer.first || buffer.last < other.first) continue;
      if (const int64_t gap = other.offset - end; gap >= need && gap < best_gap) {
        best = end;
        best_gap = gap;
      }
      end = std::max(end, other.offset + aligned(other.bytes));
    }
    buffer.offset = best >= 0 ? best : end;
    total = std::max(total, buffer.offset + need);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), buffer.offset,
                                   [&](int64_t offset, size_t other) { return offset < intervals[other].offset; }),
                  index);
  }
  return total;
}

}  // namespace pxl
