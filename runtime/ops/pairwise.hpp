// The kernel column of rows with two elementwise operands that broadcast against each other.
#pragma once

#include "runtime/graph/op.hpp"
#include "runtime/kernels/elementwise.hpp"

namespace pxl {

template <Binary f>
Kernel pairwise(const OpSite& s) {
  return binary_kernel(f, s.input(0).dtype, s.input(0).shape, s.input(1).shape, s.out[0].shape);
}

}  // namespace pxl
