// Regions: sets of a tensor's elements, as ranges of their row-major numbers. Boxes, runs of a flat mapping and
// differences of these are all regions. So intersections alone decide which tile holds an element.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tensor/shape.hpp"

namespace pxl::tiles {

/// Elements [begin, end).
struct ElementRange {
  int64_t begin = 0, end = 0;
  int64_t size() const { return std::max<int64_t>(0, end - begin); }
  friend bool operator==(const ElementRange&, const ElementRange&) = default;
};
inline ElementRange common(const ElementRange& a, const ElementRange& b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}
/// Part i if n is divided evenly into parts: the first n % parts have one element more.
inline ElementRange part_of(int64_t n, int64_t parts, int64_t i) {
  const int64_t each = n / parts, more = n % parts, begin = i * each + std::min(i, more);
  return {begin, begin + each + (i < more ? 1 : 0)};
}

/// A box of a tensor: a range along each axis.
using Box = std::vector<ElementRange>;
Shape extents_of(const Box& box);

class Region {
 public:
  static Region all(int64_t elements);
  static Region box(const Shape& shape, const Box& box);
  /// The region of these elements, in any order, possibly repeated.
  static Region of(std::vector<int64_t> elements);

  /// Appends a range, which does not begin before the end of the last one.
  void add(ElementRange range);
  const std::vector<ElementRange>& ranges() const { return ranges_; }
  int64_t size() const { return first_.empty() ? 0 : first_.back() + ranges_.back().size(); }
  bool empty() const { return ranges_.empty(); }
  /// The number of an element within the region, in ascending order; -1 if the region lacks it.
  int64_t index_of(int64_t element) const;
  /// Calls f(element) in ascending order.
  template <class F>
  void for_each(F&& f) const {
    for (const ElementRange& r : ranges_)
      for (int64_t e = r.begin; e < r.end; ++e) f(e);
  }
  /// The numbers of `elements` elements within the region; -1 for others.
  std::vector<int64_t> numbers_of(int64_t elements) const {
    std::vector<int64_t> numbers(static_cast<size_t>(elements), -1);
    int64_t next = 0;
    for_each([&](int64_t e) { numbers[static_cast<size_t>(e)] = next++; });
    return numbers;
  }
  friend bool operator==(const Region& a, const Region& b) { return a.ranges_ == b.ranges_; }

 private:
  std::vector<ElementRange> ranges_;  ///< ascending, apart from each other
  std::vector<int64_t> first_;        ///< by range: elements before it
};

Region intersection(const Region& a, const Region& b);
Region difference(const Region& a, const Region& b);
Region merged(const Region& a, const Region& b);

/// "[0:4, 16:32]". A region that is no box yields its ranges: "elements 0:64, 70:72 and 3 more ranges".
std::string text(const Region& region, const Shape& shape);

}  // namespace pxl::tiles
