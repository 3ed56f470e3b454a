// The order in which the values of replicas are combined. It is the meaning of a reduction over replicas: whoever
// computes one, in one process or in several, uses it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace pxl {

/// Combines the values of members first..last-1 of a group, in ascending order of replicas:
///
///     T(a, b) = x[a]                  if b - a = 1
///     T(a, b) = T(a, m) with T(m, b)  where m - a is the largest power of two below b - a
///
/// so that an aligned block of replicas is a subtree. `leaf(i, slot)` puts the value of member i into a slot,
/// `join(slot, slot + 1)` combines two into the first, the lower members left. The result is in `slot`.
template <class Leaf, class Join>
void combine_tree(int64_t first, int64_t last, size_t slot, const Leaf& leaf, const Join& join) {
  if (last - first == 1) {
    leaf(first, slot);
    return;
  }
  const auto middle = first + static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(last - first - 1)));
  combine_tree(first, middle, slot, leaf, join);
  combine_tree(middle, last, slot + 1, leaf, join);
  join(slot, slot + 1);
}

/// The number of slots that combine_tree uses for n members.
constexpr int64_t combine_slots(int64_t n) {
  return 1 + static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(n - 1)));
}

}  // namespace pxl
