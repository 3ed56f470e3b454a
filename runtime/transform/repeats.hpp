// Repeated substrings of a sequence of integers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pxl {

using std::size_t;

/// A substring and its places: `length` elements that begin at `order[first .. last]` of the suffix order.
struct Repeat {
  int64_t length = 0;
  size_t first = 0, last = 0;
  size_t count() const { return last - first + 1; }
};

struct Repeats {
  std::vector<size_t> order;    ///< beginnings of all suffixes, sorted
  std::vector<Repeat> repeats;  ///< each substring that cannot be extended to the right without losing a place
};

/// All of them, at most one for each element: the inner nodes of the suffix tree. In n log^2 n steps.
Repeats find_repeats(const std::vector<int64_t>& text);

}  // namespace pxl
