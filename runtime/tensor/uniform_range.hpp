// Uniform numbers in a dtype: host, kernels and definitions draw alike.
#pragma once

#include "runtime/tensor/dtype.hpp"

namespace pxl {

/// How numbers u of [0, 1) become numbers of [low, high) in a floating dtype: (low + range u) factor, not below `least`
/// and not above `most`. Host, kernels and definitions draw alike.
struct UniformRange {
  double low, range;
  double factor = 1;  ///< 2 where high - low is beyond the dtype: the others are halves
  // The low bound as the dtype holds it, and the largest number below the high one. Infinite unless low < high.
  double least, most;

  /// Throws Error unless both bounds are finite.
  UniformRange(DType dtype, double low, double high);
  template <class C>
  C operator()(C u) const {
    const C x = (static_cast<C>(low) + static_cast<C>(range) * u) * static_cast<C>(factor);
    const C above = x < static_cast<C>(least) ? static_cast<C>(least) : x;
    return above > static_cast<C>(most) ? static_cast<C>(most) : above;
  }
};

}  // namespace pxl
