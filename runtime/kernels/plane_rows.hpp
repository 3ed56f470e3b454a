// Rows of planes of channels that are transposed into elements of channels side by side.
#pragma once

#include <cstdint>

namespace pxl {

/// Rows [first, first + lines) of planes of `rows` x `columns` numbers, `plane` numbers apart, as elements that are
/// `element` numbers apart, `line` to a row; the plane's first column is element `before` of its row. What is outside
/// the plane is 0.
struct PlaneRows {
  int64_t plane = 0, rows = 0, columns = 0;
  int64_t first = 0, lines = 0, before = 0, line = 0, element = 0;
};

}  // namespace pxl
