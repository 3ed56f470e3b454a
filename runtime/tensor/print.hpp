// Prints arrays as NumPy does: shortest round-trip digits, one column width, summarised above 1,000 elements (three at
// each edge).
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

struct PrintOptions {
  int64_t threshold = 1000;
  int64_t edge_items = 3;
  int line_width = 75;
  std::string_view separator = " ";  ///< NumPy's str uses a space, repr ", "
};

std::string to_text(const Array& array, const PrintOptions& options = {});

/// A Python float: "0.05", "1e-05", "1.0", "nan", "inf".
std::string number_text(double value);
/// Shortest round-trip digits of a float32 or float16, in the same form.
std::string number_text(float value);
std::string number_text(half value);
std::string number_text(bfloat16 value);

}  // namespace pxl
