// Sliding windows over spatial axes, as convolutions and pools have them: what a part of the result needs.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl::tiles {

struct Windows {
  std::vector<int64_t> from, to;  ///< extents of the operand's and the result's spatial axes
  std::vector<int64_t> kernel, stride, dilation;
  bool transposed = false;  ///< the operand is what windows give, the result what they read

  int64_t kernel_size() const;
  /// Extent of the operand along an axis that `extent` elements of the result need, neighbours' parts included.
  int64_t needed(size_t axis, int64_t extent) const;
  /// Elements of the operand that a block of the result needs.
  int64_t needed(const std::vector<int64_t>& block) const;
  /// Windows that a block of the result is made of, for one element of the kernel.
  int64_t windows(const std::vector<int64_t>& block) const;
};

/// The integers of a parameter for each of `axes`; one counts for all, none is `fallback`.
std::vector<int64_t> per_axis(const OpSite& site, std::string_view param, size_t axes, int64_t fallback);
/// Spatial extents: all behind batch and channels.
std::vector<int64_t> spatial(const Shape& shape);

}  // namespace pxl::tiles
