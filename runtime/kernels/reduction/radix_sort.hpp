// Stable sort of numbered items by unsigned rank, byte by byte.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

namespace pxl {

template <class Bits>
struct RankedItem {
  Bits rank;
  int32_t index;
  friend bool operator<(const RankedItem& a, const RankedItem& b) {
    return a.rank != b.rank ? a.rank < b.rank : a.index < b.index;
  }
};

/// Stable sort by rank, byte by byte from the lowest. `items` and `other` hold n items each. Returns the one that holds
/// the result.
template <class Bits>
RankedItem<Bits>* radix_sort(RankedItem<Bits>* items, RankedItem<Bits>* other, int64_t n) {
  constexpr size_t digits = sizeof(Bits);
  std::array<std::array<int32_t, 256>, digits> counts{};
  for (int64_t i = 0; i < n; ++i)
    for (size_t d = 0; d < digits; ++d) ++counts[d][static_cast<uint8_t>(items[i].rank >> (8 * d))];
  for (size_t d = 0; d < digits; ++d) {
    const auto digit = [d](const RankedItem<Bits>& item) { return static_cast<uint8_t>(item.rank >> (8 * d)); };
    if (counts[d][digit(items[0])] == n) continue;  // all items have this digit
    int32_t start = 0;
    for (int32_t& count : counts[d]) start += std::exchange(count, start);
    for (int64_t i = 0; i < n; ++i) other[counts[d][digit(items[i])]++] = items[i];
    std::swap(items, other);
  }
  return items;
}

}  // namespace pxl
