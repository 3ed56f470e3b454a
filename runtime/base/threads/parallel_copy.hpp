// Copies of large memory on the thread pool.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

/// Copies `bytes` between places that do not overlap. A copy of at least `min_parallel_copy_bytes` is divided into
/// equal contiguous parts, one per thread, as kernels partition their rows. The system then places a page of fresh
/// memory on the NUMA node of the thread that uses it (first touch), and threads share the page faults.
void parallel_copy(std::byte* to, const std::byte* from, int64_t bytes);

/// Estimated time to copy a byte on one core: 10 GB/s. On AMD EPYC memory is read at 31 GB/s, and an addition reads and
/// writes 16 GB/s (`PXL_THREADS=1 bench_runtime --benchmark_filter='narrow|add'`). Fresh pages are cleared first.
inline constexpr double copy_ns_per_byte = 0.1;
/// A copy of fewer bytes takes less than 0.1 ms on one core.
inline constexpr int64_t min_parallel_copy_bytes = int64_t{1} << 20;

}  // namespace pxl
