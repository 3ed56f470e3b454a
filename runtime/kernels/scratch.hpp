// Working memory of kernels: one growing buffer per thread and purpose, so that running allocates only the first time.
#pragma once

#include <cstddef>
#include <vector>

namespace pxl {

/// At least n elements, uninitialised content. `slot` tells apart the buffers one kernel holds at a time.
template <class T, int slot = 0>
T* scratch(size_t n) {
  thread_local std::vector<T> buffer;
  if (buffer.size() < n) buffer.resize(n);
  return buffer.data();
}

}  // namespace pxl
