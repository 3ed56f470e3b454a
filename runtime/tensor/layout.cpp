#include "runtime/tensor/layout.hpp"

namespace pxl {

StridedLayout contiguous(const Shape& shape) { return {shape, strides_of(shape), 0}; }

StridedLayout permuted(const StridedLayout& from, const std::vector<int64_t>& axes) {
  StridedLayout to{{}, {}, from.offset};
  for (int64_t axis : axes) {
    const auto i = static_cast<size_t>(normalise_axis(axis, std::ssize(from.shape)));
    to.shape.push_back(from.shape[i]);
    to.strides.push_back(from.strides[i]);
  }
  return to;
}

StridedLayout narrowed(StridedLayout from, size_t axis, int64_t start, int64_t size) {
  from.offset += start * from.strides[axis];
  from.shape[axis] = size;
  return from;
}

std::optional<StridedLayout> reshaped(const StridedLayout& from, const Shape& to) {
  if (element_count(from.shape) == 0 || element_count(from.shape) != element_count(to)) return std::nullopt;
  StridedLayout old{{}, {}, from.offset};  // without extents of 1, whose strides are irrelevant
  for (size_t i = 0; i < from.shape.size(); ++i) {
    if (from.shape[i] == 1) continue;
    old.shape.push_back(from.shape[i]);
    old.strides.push_back(from.strides[i]);
  }
  StridedLayout result{to, Shape(to.size(), 1), from.offset};
  // Repeatedly takes as few old axes as make up whole new axes; the old ones must be nested contiguously.
  for (size_t o = 0, n = 0; o < old.shape.size();) {
    size_t old_end = o + 1, new_end = n + 1;
    for (int64_t have = old.shape[o], want = to[n]; have != want;) {
      if (want < have)
        want *= to[new_end++];
      else
        have *= old.shape[old_end++];
    }
    for (size_t k = o; k + 1 < old_end; ++k)
      if (old.strides[k] != old.shape[k + 1] * old.strides[k + 1]) return std::nullopt;
    int64_t stride = old.strides[old_end - 1];
    for (size_t k = new_end; k-- > n; stride *= to[k]) result.strides[k] = stride;
    o = old_end;
    n = new_end;
  }
  return result;
}

bool is_contiguous(const StridedLayout& layout) {
  const Shape dense = strides_of(layout.shape);
  for (size_t i = 0; i < dense.size(); ++i)
    if (layout.shape[i] != 1 && layout.strides[i] != dense[i]) return false;
  return layout.offset == 0;
}

}  // namespace pxl
