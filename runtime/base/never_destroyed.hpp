// Values of statics that live for as long as the process or the thread. No static of the library may have a destructor:
// `exit` destroys statics while other threads of a host program still load and run programs. It destroys the main
// thread's own statics before all others, and a destructor of the host program may still call the library.
#pragma once

#include <utility>

namespace pxl {

/// `static const auto& words = never_destroyed(std::vector<int>{1, 2});`
template <class T>
T& never_destroyed(T value) {
  return *new T(std::move(value));
}

/// This thread's only T. The first call makes it, and the end of the thread destroys it. A call after that end makes
/// another T, which is never destroyed.
template <class T>
T& of_thread() {
  constinit static thread_local T* own = nullptr;
  if (own) [[likely]]
    return *own;
  struct End {
    ~End() { delete std::exchange(own, nullptr); }
  };
  own = new T;
  static thread_local const End end;
  static_cast<void>(end);
  return *own;
}

}  // namespace pxl
