// Arrays whose elements are stored in column-major (Fortran) order.
#pragma once

#include "runtime/tensor/array.hpp"

namespace pxl {

/// The array of `shape` whose elements `a` holds in column-major order. If there are two axes, the result is a, stored
/// as [shape[1], shape[0]], transposed.
Array from_column_major(const Array& a, const Shape& shape);

}  // namespace pxl
