// Finds repeated substrings in a sequence of integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pxl {

using std::size_t;

/// A repeated substring: `length` elements starting at `order[first .. last]`.
struct Repeat {
  int64_t length = 0;
  size_t first = 0, last = 0;
  size_t count() const { return last - first + 1; }
};

struct Repeats {
  std::vector<size_t> order;    ///< starts of all suffixes, sorted
  std::vector<Repeat> repeats;  ///< substrings that cannot be extended to the right without losing an occurrence
};

/// Finds them all, at most one per element: the inner nodes of the suffix tree. O(n log^2 n).
Repeats find_repeats(const std::vector<int64_t>& text);

}  // namespace pxl
