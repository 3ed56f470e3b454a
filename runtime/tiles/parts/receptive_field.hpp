// Receptive fields of sliding windows over spatial axes (convolution, pooling): the slice of the operand that a block
// of the result needs.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl::tiles {

struct SlidingWindows {
  std::vector<int64_t> from, to;  ///< extents of the operand's and the result's spatial axes
  std::vector<int64_t> kernel, stride, dilation;
  bool transposed =
      false;  ///< gradients and transposed convolutions: each operand element writes a window of the result

  int64_t kernel_size() const;
  /// Elements of the operand along an axis that `extent` elements of the result need, halo included.
  int64_t needed(size_t axis, int64_t extent) const;
  /// Number of the operand's elements that a block of the result needs.
  int64_t needed(const std::vector<int64_t>& block) const;
  /// The elements in a block of the result that are the sum of something.
  int64_t covered(const std::vector<int64_t>& block) const;
  /// Windows that a block of the result reads, for one kernel element.
  int64_t windows(const std::vector<int64_t>& block) const;
};

/// A parameter's integers, one for each of `axes`. A single integer applies to all axes; `fallback` replaces a missing
/// one.
std::vector<int64_t> per_axis(const OpContext& site, std::string_view param, size_t axes, int64_t fallback);
/// Spatial extents: the axes after batch and channels.
std::vector<int64_t> spatial(const Shape& shape);

}  // namespace pxl::tiles
