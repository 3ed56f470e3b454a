// Copies of large memory on the thread pool.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

/// Copies `bytes` between places that do not overlap. A copy of at least `min_parallel_copy_bytes` is divided into
/// equal contiguous parts, one per thread, as kernels partition their rows. The system then places a page of fresh
/// memory on the NUMA node of the thread that uses it (first touch), and threads share the page faults.
void parallel_copy(std::byte* to, const std::byte* from, int64_t bytes);

/// Not measured.
inline constexpr int64_t min_parallel_copy_bytes = int64_t{1} << 20;

}  // namespace pxl
