// What is worth dividing; and long work in pieces, so that Ctrl-C is heard between them.
#pragma once

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// From so many nanoseconds of one core on a kernel is shared out among threads: several times what it costs to call
/// them together.
constexpr double min_parallel_ns = 1500;

/// Takes so long (nanoseconds of one core) that somebody who presses Ctrl-C would notice.
constexpr double max_uninterruptible_ns = 2e7;

/// Units of a piece of a phase: about a fifth of `max_uninterruptible_ns`, a multiple of the phase's grain; pieces
/// change no bits.
int64_t interrupt_chunk(const Kernel& kernel, const Phase& phase);

/// The kernel on the calling thread. Throws Interrupted between pieces; what it wrote is then of no use.
void run_interruptibly(const Kernel& kernel, const Buffers& buffers);

}  // namespace pxl
