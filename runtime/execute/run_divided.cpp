// Kernels whose phases run on the thread pool.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "runtime/base/limits/cancel.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/execute/program.hpp"

namespace pxl {

bool has_parallel_work(const Kernel& kernel) { return !kernel.phases().empty() && kernel.cost_ns() >= min_parallel_ns; }
bool worth_dividing(const Kernel& kernel) { return has_parallel_work(kernel) && thread_pool().size() > 1; }

namespace {

/// The flag of the caller, and whether work was left out because of it: another thread may have heard the request
/// since.
struct Stop {
  const std::atomic<bool>& requested = interrupt_flag();
  std::atomic<bool> skipped{false};
};

// Begin and end are multiples of the phase's grain, like a thread's chunk: chunking changes no bits.
void run_in_pieces(const Phase& phase, const Buffers& buffers, const ChunkRange& share, int64_t piece, Stop& stop) {
  for (int64_t at = share.begin; at < share.end; at += piece) {
    if (stop.requested.load(std::memory_order_relaxed)) {
      stop.skipped.store(true, std::memory_order_relaxed);
      return;
    }
    phase.part(buffers, at, std::min(at + piece, share.end));
  }
}

}  // namespace

size_t workspace_bytes(const Kernel& kernel) {
  return kernel.workspace().bytes(worth_dividing(kernel) ? static_cast<size_t>(thread_pool().size()) : 1);
}

namespace {

/// The part of a phase that one thread ran.
struct TimedShare {
  Profile::Clock::time_point begin, end;
  int thread = -1;
};

}  // namespace

void run_divided(const Kernel& kernel, const Buffers& buffers, bool interruptible, Profile* timed, size_t step) {
  const bool pieces = interruptible && kernel.cost_ns() > max_uninterruptible_ns;
  const double ns_per_phase = kernel.cost_ns() / static_cast<double>(std::max<size_t>(1, kernel.phases().size()));
  ThreadPool& workers = thread_pool();
  std::vector<TimedShare> shares(timed ? static_cast<size_t>(workers.size()) : 0);
  for (const Phase& phase : kernel.phases()) {
    if (phase.iterations <= phase.grain) {
      phase.part(buffers, 0, phase.iterations);
      continue;
    }
    const int64_t piece = pieces ? interrupt_chunk(kernel, phase) : phase.iterations;
    // Captures a single pointer, so that the std::function does not allocate.
    Stop stop;
    const struct {
      const Phase& phase;
      const Buffers& buffers;
      const WorkspaceSize& workspace;
      int64_t piece;
      bool pieces;
      Stop& stop;
      TimedShare* shares;
    } job{phase, buffers, kernel.workspace(), piece, pieces, stop, timed ? shares.data() : nullptr};
    workers.run(
        [&job](int thread, int threads) {
          const ChunkRange share = chunk_range(job.phase.iterations, thread, threads, job.phase.grain);
          const Buffers own = job.buffers.for_thread(thread, job.workspace);
          TimedShare* const one = job.shares ? job.shares + thread : nullptr;
          if (one) *one = {Profile::Clock::now(), {}, Profile::thread_number()};
          if (job.pieces)
            run_in_pieces(job.phase, own, share, job.piece, job.stop);
          else if (share.begin < share.end)
            job.phase.part(own, share.begin, share.end);
          if (one) one->end = Profile::Clock::now();
        },
        ns_per_phase);
    for (TimedShare& share : shares)
      if (share.thread >= 0 && share.thread != Profile::thread_number())
        timed->add_part(step, std::exchange(share.thread, -1), share.begin, share.end);
    if (pieces) {
      check_interrupt();
      if (stop.skipped.load(std::memory_order_relaxed)) throw Interrupted();
    }
  }
}

}  // namespace pxl
