// How a tensor's elements lie in memory: what a transposition, a reshape or a part of another tensor is before anything
// is copied.
#pragma once

#include <optional>

#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Element (i, j, ...) is at offset + i strides[0] + j strides[1] + ..., in elements.
struct StridedLayout {
  Shape shape, strides;
  int64_t offset = 0;
};

StridedLayout contiguous(const Shape& shape);
/// Axis i of the result is axis axes[i].
StridedLayout permuted(const StridedLayout& from, const std::vector<int64_t>& axes);
/// The extents [start, start + size) of an axis.
StridedLayout narrowed(StridedLayout from, size_t axis, int64_t start, int64_t size);
/// The same elements in the same order; nothing where no strides express that.
std::optional<StridedLayout> reshaped(const StridedLayout& from, const Shape& to);
/// Whether the elements follow each other in row-major order from 0 on.
bool is_contiguous(const StridedLayout& layout);

}  // namespace pxl
