// Arena allocation: offsets in one block of memory for buffers with known sizes and live ranges.
#pragma once

#include <cstdint>
#include <vector>

namespace pxl {

inline constexpr int64_t arena_alignment = 64;  ///< bytes: a cache line and the widest vector register

struct Interval {
  int64_t bytes = 0;
  int first = 0, last = 0;  ///< live range: positions, inclusive
  int64_t offset = 0;       ///< result of assign_offsets
};

/// Assigns disjoint ranges to buffers that are live at the same time. The 4,096 largest buffers come first, by
/// decreasing size: each takes the smallest gap that fits (greedy by size; Pisarchyk and Lee, "Efficient memory
/// management for deep neural net inference", 2020). The other buffers are placed after these, by increasing first
/// position: each takes the smallest free range that fits. The time is n log n. Offsets are multiples of
/// arena_alignment. Returns the size of the arena in bytes. Deterministic.
int64_t assign_offsets(std::vector<Interval>& intervals);

}  // namespace pxl
