// Plane rows that are transposed into elements with adjacent channels.
#pragma once

#include <cstdint>

namespace pxl {

/// Rows [first, first + lines) of planes with `rows` x `columns` numbers, `plane` numbers apart. They become elements
/// that are `element` numbers apart, `line` elements per row. A row's element `before` is the plane's first column.
/// Elements outside the plane are 0.
struct PlaneRows {
  int64_t plane = 0, rows = 0, columns = 0;
  int64_t first = 0, lines = 0, before = 0, line = 0, element = 0;
};

}  // namespace pxl
