// Placement of live intervals: greedy by size, and by time where there are too many of them.
#include "runtime/plan/arena.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>

namespace pxl {

namespace {

// Greedy by size compares each interval with all that are placed: this many take 5 ms on a processor of 2022.
constexpr size_t max_by_size = 4096;

int64_t aligned(int64_t bytes) { return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment; }

/// Each into the smallest gap that fits, in the order given. Returns the end of the last. Quadratic.
int64_t place_by_size(std::vector<Interval>& intervals, std::span<const size_t> order) {
  std::vector<size_t> placed;  // by offset
  placed.reserve(order.size());
  int64_t total = 0;
  for (size_t index : order) {
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

/// Free ranges of memory that grows at its end.
class FreeRanges {
 public:
  explicit FreeRanges(int64_t begin) : end_(begin) {}

  int64_t end() const { return end_; }

  /// The start of the smallest free range that fits, or of new memory.
  int64_t take(int64_t bytes) {
    if (const auto fit = by_bytes_.lower_bound({bytes, 0}); fit != by_bytes_.end()) {
      const auto [found, begin] = *fit;
      erase(begin, found);
      if (found > bytes) insert(begin + bytes, found - bytes);
      return begin;
    }
    int64_t begin = end_;
    if (!by_begin_.empty())
      if (const auto [last, size] = *by_begin_.rbegin(); last + size == end_) {
        begin = last;
        erase(last, size);
      }
    end_ = begin + bytes;
    return begin;
  }

  void release(int64_t begin, int64_t bytes) {
    if (const auto next = by_begin_.find(begin + bytes); next != by_begin_.end()) {
      bytes += next->second;
      erase(next->first, next->second);
    }
    if (const auto after = by_begin_.lower_bound(begin); after != by_begin_.begin())
      if (const auto [before, size] = *std::prev(after); before + size == begin) {
        erase(before, size);
        begin = before;
        bytes += size;
      }
    insert(begin, bytes);
  }

 private:
  void insert(int64_t begin, int64_t bytes) {
    by_begin_.emplace(begin, bytes);
    by_bytes_.emplace(bytes, begin);
  }
  void erase(int64_t begin, int64_t bytes) {
    by_begin_.erase(begin);
    by_bytes_.erase({bytes, begin});
  }

  int64_t end_;
  std::map<int64_t, int64_t> by_begin_;
  std::set<std::pair<int64_t, int64_t>> by_bytes_;
};

/// Places buffers by increasing first position, in memory from `begin` on. Returns the end of that memory. n log n.
int64_t place_by_time(std::vector<Interval>& intervals, std::vector<size_t> order, int64_t begin) {
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return std::pair(intervals[a].first, a) < std::pair(intervals[b].first, b); });
  FreeRanges memory(begin);
  std::set<std::pair<int, size_t>> live;  // by last position
  for (size_t index : order) {
    Interval& buffer = intervals[index];
    if (buffer.bytes == 0) continue;
    while (!live.empty() && live.begin()->first < buffer.first) {
      const Interval& over = intervals[live.begin()->second];
      memory.release(over.offset, aligned(over.bytes));
      live.erase(live.begin());
    }
    buffer.offset = memory.take(aligned(buffer.bytes));
    live.emplace(buffer.last, index);
  }
  return memory.end();
}

}  // namespace

int64_t assign_offsets(std::vector<Interval>& intervals) {
  std::vector<size_t> by_size(intervals.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return intervals[a].bytes > intervals[b].bytes; });
  const size_t large = std::min(by_size.size(), max_by_size);
  const int64_t total = place_by_size(intervals, std::span(by_size).first(large));
  if (large == by_size.size()) return total;
  return place_by_time(intervals, {by_size.begin() + static_cast<std::ptrdiff_t>(large), by_size.end()}, total);
}

}  // namespace pxl
