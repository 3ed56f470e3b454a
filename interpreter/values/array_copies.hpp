// Copies of parts of host arrays. Long ones check for Ctrl-C on the way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/tensor/array.hpp"

namespace pxl {

/// Runs of `bytes` at these offsets, in elements, one after the other to `to`; `expected`: offsets that are likely to
/// be copied next (tensor/gather.hpp).
void gather_charged(const Array& a, std::span<const int64_t> offsets, std::span<const int64_t> expected, size_t bytes,
                    std::byte* to);
/// A window to dense memory: runs of `run` adjacent elements from element `base` on, of these extents and strides.
void copy_window(const Array& a, int64_t base, Shape extents, Shape strides, int64_t run, std::byte* to);
/// The elements at which a mask, a bool array of a's shape, is true, in order.
Array select_elements(const Array& a, const Array& mask);

}  // namespace pxl
