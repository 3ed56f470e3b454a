// Strided layouts: transpositions, reshapes and slices as strides, without copying.
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
/// Transposition: axis i of the result is axis axes[i].
StridedLayout permuted(const StridedLayout& from, const std::vector<int64_t>& axes);
/// Slice [start, start + size) of an axis.
StridedLayout narrowed(StridedLayout from, size_t axis, int64_t start, int64_t size);
/// The same elements in the same order under another shape; nullopt if no strides express it.
std::optional<StridedLayout> reshaped(const StridedLayout& from, const Shape& to);
/// Whether the elements are contiguous in row-major order from offset 0.
bool is_contiguous(const StridedLayout& layout);

}  // namespace pxl
