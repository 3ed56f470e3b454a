// Rows of a host array picked by position, as a training loop picks its batch: bound by the memory they lie in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pxl {

/// Copies the runs of `bytes` bytes that begin at `from + offsets[i] * width` to `to`, one after another; what is large
/// is shared out among the team's threads. Then asks for the runs at `expected` (offsets likewise), which are likely to
/// be read next: a wish to the memory, they are not read here. Threads that shared in the copy do so while they wait.
void gather(const std::byte* from, size_t width, std::span<const int64_t> offsets, std::span<const int64_t> expected,
            size_t bytes, std::byte* to);

}  // namespace pxl
