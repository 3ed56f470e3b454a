// Converts the keys of host arrays, such as `x[1:3, none, [0, 2]]`, to the elements that they select.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

/// The selection of a key in an array: the shape of the result, and the offsets of its elements.
struct GatherOffsets {
  Shape shape;
  std::vector<int64_t> offsets;  ///< offset of each run in the result, in elements; empty for a window
  int64_t run = 1;               ///< number of adjacent elements at each offset
  bool window = false;           ///< whether the selection is a strided window, which index arrays cannot be
  int64_t base = 0;              ///< for a window: its first element, its extents without the run, and their strides
  Shape extents, strides;
};

/// `windows`: a selection without index arrays may become a window, which needs no offsets. Throws Error for keys that
/// do not fit.
GatherOffsets gather_offsets(Interpreter& in, const Array& a, const Value& key, bool windows);

}  // namespace pxl
