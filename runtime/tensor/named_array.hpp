// An array with a name, as in files that hold several arrays.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

struct NamedArray {
  std::string name;
  Array data;
};

}  // namespace pxl
