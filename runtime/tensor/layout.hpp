// How a tensor's elements lie in memory: what a transposition, a reshape or a part of another tensor is before anything
// is copied.
#pragma once

#include <optional>

#include "runtime/tensor/shape.hpp"

namespace pxl {

/// Element (i, j, ...) is at offset + i strides[0] + j strides[1] + ..., in elements.
struct Layout {
  Shape shape, strides;
  int64_t offset = 0;
};

Layout contiguous(const Shape& shape);
/// Axis i of the result is axis axes[i].
Layout permuted(const Layout& from, const std::vector<int64_t>& axes);
/// The extents [start, start + size) of an axis.
Layout narrowed(Layout from, size_t axis, int64_t start, int64_t size);
/// The same elements in the same order; nothing where no strides express that.
std::optional<Layout> reshaped(const Layout& from, const Shape& to);
/// Whether the elements follow each other in row-major order from 0 on.
bool is_contiguous(const Layout& layout);

}  // namespace pxl
