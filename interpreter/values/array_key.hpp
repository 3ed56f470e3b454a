// Keys of host arrays, `x[1:3, none, [0, 2]]`, as the elements that they select.
#pragma once

#include <cstdint>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

/// What a key selects of an array: the shape of the result, and the offsets of its elements.
struct GatherOffsets {
  Shape shape;
  std::vector<int64_t> offsets;  ///< in elements, for every run of the result, unless it is a window
  int64_t run = 1;               ///< adjacent elements from each offset on
  bool window = false;           ///< a strided window: no index arrays
  int64_t base = 0;              ///< of a window: its first element, its extents but for the run, and their strides
  Shape extents, strides;
};

/// `windows`: whether what has no index arrays may be a window, without offsets. Throws Error for keys that do not fit.
GatherOffsets gather_offsets(Interpreter& in, const Array& a, const Value& key, bool windows);

}  // namespace pxl
