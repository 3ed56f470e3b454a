// NumPy's .npy files, versions 1.0 to 3.0, little-endian, C or Fortran order (converted).
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

Array load_npy(const std::string& path);
/// Written to a temporary file beside `path` and renamed.
void save_npy(const std::string& path, const Array& array);

}  // namespace pxl
