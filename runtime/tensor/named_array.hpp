// An array with a name, as files of several arrays have them.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

struct NamedArray {
  std::string name;
  Array data;
};

}  // namespace pxl
