// Statistics of a tensor's elements, for debugging.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Statistics over the finite elements. The deviation is the population standard deviation.
struct Statistics {
  int64_t count = 0, nan = 0, infinite = 0;
  double least = 0, most = 0, mean = 0, deviation = 0;
  bool finite() const { return nan == 0 && infinite == 0; }
};
Statistics statistics_of(const Array& array);

/// "from -1 to 3, mean 0.5, deviation 1.1", "3 of 8 elements are NaN, 1 infinite, the rest from 0 to 1", "empty".
std::string text(const Statistics& s);

}  // namespace pxl
