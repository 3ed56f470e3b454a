// Gathers rows of a host array by position, as a training loop does for its batches. Bound by memory bandwidth.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pxl {

/// Copies the runs of `bytes` bytes at `from + offsets[i] * width` to `to`, consecutively; large copies run on the
/// thread pool. Then prefetches the runs at `expected` (offsets likewise) without reading them; threads that took part
/// in the copy do so while they wait.
void gather(const std::byte* from, size_t width, std::span<const int64_t> offsets, std::span<const int64_t> expected,
            size_t bytes, std::byte* to);

}  // namespace pxl
