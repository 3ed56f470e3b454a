// Copies of large memory on the thread pool.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

/// Copies `bytes` between places that do not overlap. From `min_parallel_copy_bytes` on each thread of the pool copies
/// one of equal contiguous parts, as kernels partition their rows: a page of fresh memory is then placed on the NUMA
/// node of the thread that uses it (first touch), and page faults are shared.
void parallel_copy(std::byte* to, const std::byte* from, int64_t bytes);

/// Not measured.
inline constexpr int64_t min_parallel_copy_bytes = int64_t{1} << 20;

}  // namespace pxl
