// What a kernel is: a function over raw, contiguous, row-major buffers, resolved once for given specs and
// attributes and run any number of times. Kernels know tensors, never graphs.
#pragma once

#include <cstddef>
#include <functional>

namespace pxl {

/// The buffers of one run. `in[i]` is null where an optional operand is not connected.
/// An output may be the same memory as an input of the same spec only where the op's row says so.
struct Buffers {
  const std::byte* const* in;
  std::byte* const* out;

  template <class T>
  const T* input(size_t i) const {
    return reinterpret_cast<const T*>(in[i]);
  }
  template <class T>
  T* output(size_t i) const {
    return reinterpret_cast<T*>(out[i]);
  }
};

/// Never allocates in proportion to its operands at run time unless its family says so; never throws except
/// Error for bad data (an index out of range). Deterministic: the same bits for the same inputs.
using Kernel = std::function<void(const Buffers&)>;

}  // namespace pxl
