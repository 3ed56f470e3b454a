// The kernel column of rows that compute one function of each element.
#pragma once

#include "runtime/kernels/elementwise/elementwise.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

template <Unary f>
Kernel unary(const OpContext& s) {
  return unary_kernel(f, s.input(0).dtype, s.input(0).size());
}

}  // namespace pxl
