// The groups of elements that a reduction over axes reduces to one element each.
#pragma once

#include <vector>

#include "runtime/kernels/reduction/reduce.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl::test {

/// The elements of x that fall on each result, in row-major order.
inline std::vector<std::vector<double>> groups(const Array& x, const std::vector<int64_t>& axes) {
  const Shape kept = reduced_shape(x.shape(), axes, true), strides = strides_of(x.shape()), to = strides_of(kept);
  std::vector<std::vector<double>> all(static_cast<size_t>(element_count(kept)));
  for (int64_t i = 0; i < x.size(); ++i) {
    int64_t at = 0;
    for (size_t d = 0; d < kept.size(); ++d) {
      if (kept[d] != 1) at += i / strides[d] % x.shape()[d] * to[d];
    }
    all[static_cast<size_t>(at)].push_back(x.number(i));
  }
  return all;
}

}  // namespace pxl::test
