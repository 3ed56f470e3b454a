// Values of statics that live for as long as the process. `exit` destroys statics while other threads of a host program
// still load and run programs, so that no static of the library may have a destructor.
#pragma once

#include <utility>

namespace pxl {

/// `static const auto& words = never_destroyed(std::vector<int>{1, 2});`
template <class T>
T& never_destroyed(T value) {
  return *new T(std::move(value));
}

}  // namespace pxl
