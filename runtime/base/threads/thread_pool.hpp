// A thread pool with low latency: threads spin for a while before they sleep, so that waking them costs about two cache
// misses. Library pools take tens of microseconds, longer than a training step of a small network.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "runtime/base/threads/division_policy.hpp"
#include "runtime/base/threads/start_thread.hpp"
#include "runtime/base/threads/subnormals.hpp"

namespace pxl {

/// Selects the jobs of a pool that are measured. Reading the clock takes longer than waking the pool, so one of 16
/// short jobs is measured. The distances are irregular, 1 to 31, because the jobs of a training loop repeat in the same
/// order. All long jobs are measured, and all jobs with unknown length: a sample of a few such jobs would count the
/// waits of all, but hardly the gain of any.
class JobSampling {
 public:
  /// Estimated time of a long job on one core, in ns: measuring takes less than a hundredth of it.
  static constexpr double long_job_ns = 200e3;
  static constexpr int sampled_jobs = 16;

  /// The number of jobs that the next one is a sample of: 0 if it is not measured. `expected_ns` is 0 if it is unknown.
  int next(double expected_ns) {
    if (expected_ns >= long_job_ns || expected_ns == 0) return 1;
    if (++jobs_ != next_sample_) return 0;
    next_sample_ = jobs_ + 1 + (jobs_ * 2654435761u >> 16) % (2 * sampled_jobs - 1);
    return sampled_jobs;
  }

 private:
  unsigned jobs_ = 0;  ///< short ones so far; wraps around
  unsigned next_sample_ = 1;
};

class ThreadPool {
 public:
  /// `threads` includes the caller; 1 creates no thread. If the system makes fewer threads, the pool has those.
  /// `cores`: numbers of cores; thread t is bound to entry t, where there is one. The caller keeps its mask.
  explicit ThreadPool(int threads, std::vector<int> cores = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  /// Runs `chunk(i, n)` for each i of [0, n), each once, in the caller's floating-point mode, and returns when all are
  /// done. n is the size of the pool, or 1 while it works serially. `chunk` must not throw. One caller at a time. The
  /// caller runs chunk 0, then steals every chunk that no thread has claimed, and waits for groups of threads. Idle
  /// threads spin for some microseconds and then sleep. `expected_ns`: the estimated time on one core; 0: unknown.
  void run(const std::function<void(int, int)>& chunk, double expected_ns = 0);

 private:
  struct Flag;
  struct Group;
  /// Starts up to `threads` - 1 threads; the number of those that are there, with the caller.
  int start(int threads);
  void work(int thread);
  bool claim(int share, int job);
  void finish(int share, int job);

  std::vector<int> cores_;
  std::unique_ptr<Flag[]> started_;  ///< one flag: the number of the last job
  std::unique_ptr<Group[]> groups_;  ///< of up to 8 chunks each, without the caller's
  std::atomic<bool> quit_ = false;
  std::vector<Thread> threads_;  ///< they read what follows when a job has started
  int size_;
  int num_groups_;
  const std::function<void(int, int)>* chunk_ = nullptr;
  FloatMode mode_ = FloatMode::now();  ///< the caller's
  int job_ = 0;
  JobSampling sampling_;
  int long_samples_ = 0;  ///< remaining samples of short jobs whose run delay is read
  DivisionPolicy policy_;
};

/// Called by this thread while it waits for the pool, instead of spinning, until it returns false: about 10 ns of work
/// per call. Null for none. The hook is for optional work, such as prefetching, which may happen late or never.
inline thread_local bool (*idle_hook)() = nullptr;

/// The process's pool: PXL_THREADS threads, by default one for each core that the process may use (cores.hpp), at most
/// 64. With PXL_PIN=on and a thread for each core of the affinity mask, each thread is bound to one core. This suits
/// machines without other work, since the system cannot move a bound thread from a busy core. Created on first use.
ThreadPool& thread_pool();

/// The range [begin, end) of chunk number `share`, if [0, iterations) is divided into `shares` chunks. Chunks begin at
/// multiples of `grain`, and their sizes differ by at most one grain.
struct ChunkRange {
  int64_t begin, end;
};
constexpr ChunkRange chunk_range(int64_t iterations, int share, int shares, int64_t grain = 1) {
  const int64_t grains = (iterations + grain - 1) / grain;
  const auto at = [&](int s) {
    const int64_t edge = grains * s / shares * grain;
    return edge < iterations ? edge : iterations;
  };
  return {at(share), at(share + 1)};
}

}  // namespace pxl
