#include "runtime/tiles/region.hpp"

#include "runtime/base/text/join_texts.hpp"

#include <fmt/format.h>

namespace pxl::tiles {

namespace {

/// Calls f(range) for the ranges that both regions have in common, ascending.
template <class F>
void for_common(const Region& a, const Region& b, F&& f) {
  auto i = a.ranges().begin();
  auto j = b.ranges().begin();
  while (i != a.ranges().end() && j != b.ranges().end()) {
    const ElementRange both = common(*i, *j);
    if (both.size() > 0) f(both);
    if (i->end < j->end)
      ++i;
    else
      ++j;
  }
}

std::string range_text(const ElementRange& r) {
  return r.size() == 1 ? fmt::format("{}", r.begin) : fmt::format("{}:{}", r.begin, r.end);
}

}  // namespace

Region Region::all(int64_t elements) {
  Region r;
  r.add({0, elements});
  return r;
}

Shape extents_of(const Box& box) {
  Shape shape;
  for (const ElementRange& r : box) shape.push_back(r.size());
  return shape;
}

Region Region::box(const Shape& shape, const Box& ranges) {
  Region region;
  if (shape.empty()) return all(1);
  for (const ElementRange& r : ranges)
    if (r.size() == 0) return region;
  // The trailing axes that are whole are contiguous with the axis before them.
  size_t inner = shape.size() - 1;
  int64_t size = 1;
  while (inner > 0 && ranges[inner].size() == shape[inner]) size *= shape[inner--];
  std::vector<int64_t> at;
  for (size_t i = 0; i < inner; ++i) at.push_back(ranges[i].begin);
  for (;;) {
    int64_t row = 0;
    for (size_t i = 0; i < inner; ++i) row = row * shape[i] + at[i];
    const int64_t begin = row * shape[inner];
    region.add({(begin + ranges[inner].begin) * size, (begin + ranges[inner].end) * size});
    size_t axis = inner;
    while (axis > 0 && ++at[axis - 1] == ranges[axis - 1].end) --axis, at[axis] = ranges[axis].begin;
    if (axis == 0) return region;
  }
}

Region Region::of(std::vector<int64_t> elements) {
  std::sort(elements.begin(), elements.end());
  Region region;
  int64_t last = -1;
  for (const int64_t e : elements) {
    if (e != last) region.add({e, e + 1});
    last = e;
  }
  return region;
}

void Region::add(ElementRange range) {
  if (range.size() == 0) return;
  if (!ranges_.empty() && ranges_.back().end == range.begin) {
    ranges_.back().end = range.end;
    return;
  }
  first_.push_back(size());
  ranges_.push_back(range);
}

int64_t Region::index_of(int64_t element) const {
  auto at = std::upper_bound(ranges_.begin(), ranges_.end(), element,
                             [](int64_t e, const ElementRange& r) { return e < r.begin; });
  if (at == ranges_.begin()) return -1;
  --at;
  return element < at->end ? first_[static_cast<size_t>(at - ranges_.begin())] + element - at->begin : -1;
}

Region intersection(const Region& a, const Region& b) {
  Region r;
  for_common(a, b, [&](const ElementRange& both) { r.add(both); });
  return r;
}

Region difference(const Region& a, const Region& b) {
  Region left;
  auto j = b.ranges().begin();
  for (ElementRange r : a.ranges()) {
    while (j != b.ranges().end() && j->end <= r.begin) ++j;
    for (auto k = j; k != b.ranges().end() && k->begin < r.end; ++k) {
      left.add({r.begin, k->begin});
      r.begin = std::max(r.begin, k->end);
    }
    left.add(r);
  }
  return left;
}

Region merged(const Region& a, const Region& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  Region both;
  auto i = a.ranges().begin();
  auto j = b.ranges().begin();
  ElementRange next{0, 0};
  while (i != a.ranges().end() || j != b.ranges().end()) {
    const bool first = j == b.ranges().end() || (i != a.ranges().end() && i->begin <= j->begin);
    const ElementRange& r = first ? *i++ : *j++;
    if (next.size() > 0 && r.begin <= next.end) {
      next.end = std::max(next.end, r.end);
    } else {
      both.add(next);
      next = r;
    }
  }
  both.add(next);
  return both;
}

std::string text(const Region& region, const Shape& shape) {
  if (region.empty()) return "nothing";
  // The box around the elements, if it has no other elements.
  Box around(shape.size(), {INT64_MAX, 0});
  for (const ElementRange& r : region.ranges()) {
    int64_t first = r.begin, last = r.end - 1;
    bool whole = false;  // a range that crosses a row holds all of the following axes
    for (size_t i = shape.size(); i-- > 0;) {
      ElementRange& a = around[i];
      const int64_t extent = std::max<int64_t>(1, shape[i]);
      whole = first / extent != last / extent;
      a.begin = whole ? 0 : std::min(a.begin, first % extent);
      a.end = whole ? extent : std::max(a.end, last % extent + 1);
      first /= extent, last /= extent;
    }
  }
  if (Region::box(shape, around) == region) {
    std::vector<std::string> axes;
    for (const ElementRange& r : around) axes.push_back(range_text(r));
    return fmt::format("[{}]", join_texts(axes, ", "));
  }
  std::vector<std::string> first;
  constexpr size_t most = 3;
  for (const ElementRange& r : region.ranges())
    if (first.size() < most) first.push_back(range_text(r));
  const size_t more = region.ranges().size() - first.size();
  return fmt::format("elements {}{}", join_texts(first, ", "), more ? fmt::format(" and {} more ranges", more) : "");
}

}  // namespace pxl::tiles
