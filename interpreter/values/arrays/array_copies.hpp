// Copies parts of host arrays. Long copies check for Ctrl-C on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Copies runs of `bytes` bytes at these offsets (in elements) to `to`, one after the other. `expected`: offsets that
/// are likely to be copied next (tensor/gather.hpp).
void gather_charged(const Array& a, std::span<const int64_t> offsets, std::span<const int64_t> expected, size_t bytes,
                    std::byte* to);
/// Copies a window to dense memory: runs of `run` adjacent elements from element `base` on, with these extents and
/// strides.
void copy_window(const Array& a, int64_t base, Shape extents, Shape strides, int64_t run, std::byte* to);
/// The elements at which a mask is true, in order. The mask is a bool array of a's shape.
Array select_elements(const Array& a, const Array& mask);

}  // namespace pxl
