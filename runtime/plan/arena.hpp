// Offsets in one block of memory for buffers of known size and lifetime.
#pragma once

#include <cstdint>
#include <vector>

namespace pxl {

inline constexpr int64_t arena_alignment = 64;  ///< bytes: a cache line, and the widest vector register

struct Interval {
  int64_t bytes = 0;
  int first = 0, last = 0;  ///< positions at which the buffer is live, both included
  int64_t offset = 0;       ///< set by assign_offsets
};

/// Gives buffers that are live at the same time disjoint ranges, largest buffer first, each in the tightest gap that
/// holds it (Pisarchyk and Lee, "Efficient memory management for deep neural net inference", 2020: greedy by size).
/// Offsets are multiples of the alignment. Returns the bytes used; deterministic.
int64_t assign_offsets(std::vector<Interval>& intervals);

}  // namespace pxl
