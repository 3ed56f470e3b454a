// Thresholds for multithreading, and interruptible execution of long kernels in chunks. Chunking changes no bits.
#pragma once

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// Minimum estimated single-core time, in ns, at which a kernel runs on the thread pool: a few times the cost of waking
/// the pool (two cache misses, base/threads/thread_pool.hpp).
constexpr double min_parallel_ns = 1500;

/// Maximum single-core time, in ns, between two checks for Ctrl-C: 20 ms, below what a user notices.
constexpr double max_uninterruptible_ns = 2e7;

/// Iterations between two checks for Ctrl-C: about a fifth of max_uninterruptible_ns, a multiple of the phase's grain.
int64_t interrupt_chunk(const Kernel& kernel, const Phase& phase);

/// Runs a kernel on the calling thread, with a separate workspace. Throws Interrupted between chunks; the outputs are
/// then undefined.
void run_interruptibly(const Kernel& kernel, const Buffers& buffers);

}  // namespace pxl
