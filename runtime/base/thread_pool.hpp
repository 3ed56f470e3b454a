// A team of threads that share out the parts of one job after another. Calling it together costs about as much as two
// cache misses; libraries' own thread pools wake up in tens of microseconds, which is longer than a step of a small
// network.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "runtime/base/subnormals.hpp"

namespace pxl {

class ThreadPool {
 public:
  /// `threads` counts the caller; 1 makes no thread at all.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  /// Runs `share(0)` to `share(size - 1)`, each once, on whichever threads are free; the caller takes part and returns
  /// when all are done, in its floating-point mode. `share` must not throw. From one thread at a time.
  /// Threads that wait spin for some microseconds and then sleep, so that an idle prompt uses no processor. A share
  /// whose thread has not come by when the caller is done with its own is run by the caller. On a busy machine, where
  /// waiting for threads that others keep from running, and being kept from running by them, costs more than the team
  /// saves, the caller works alone for a while. Which thread runs a share changes no result.
  void run(const std::function<void(int)>& share);

 private:
  using Clock = std::chrono::steady_clock;
  struct Flag;
  void work(int thread);
  bool claim(int share, int job);

  int size_;
  std::unique_ptr<Flag[]> started_;  ///< one: the number of the last job
  std::unique_ptr<Flag[]> claimed_;  ///< by share: the number of the last job in which somebody took it
  std::unique_ptr<Flag[]> done_;     ///< by share: the number of the last job in which its own thread finished it
  std::vector<std::thread> threads_;
  const std::function<void(int)>* share_ = nullptr;
  FloatMode mode_ = FloatMode::now();  ///< the caller's
  int job_ = 0;
  bool quit_ = false;
  // Whether the team pays. Times in nanoseconds.
  void charge_delay(Clock::time_point now);
  void run_serially();
  bool is_still_serial();

  unsigned jobs_ = 0;  ///< so far; wraps around
  unsigned next_sample_ = 1;
  int long_samples_ = 0;         ///< samples that are still to be taken by the thread's clock
  double parallel_gain_ns_ = 0;  ///< what the team saved of late, less what was lost
  double surplus_ns_ = 0;        ///< what it saved beyond that, since the caller last worked alone
  bool serial_ = false;
  Clock::time_point serial_until_{};   ///< until when the caller works alone
  Clock::duration serial_backoff_{0};  ///< how long the last time
  Clock::time_point window_start_{};   ///< since when delays are counted, or the caller works alone
  double window_delay_ = 0;            ///< the caller's delay then, of its whole life
  double serial_delay_rate_ = 0;       ///< delay in a nanosecond in which it works alone; a moving average
};

/// What this thread does while it waits for others of a team, instead of spinning: a piece of some ten nanoseconds at a
/// time, until it says that nothing is left. Null: nothing. For wishes, which may come late or never.
inline thread_local bool (*idle_hook)() = nullptr;

/// The process's team: PXL_THREADS threads, by default one for each core that the process may use (cores.hpp), at
/// most 64. Made when first asked for.
ThreadPool& thread_pool();

/// The share of `units` that is number `share` of `shares`: [begin, end), equal up to one `grain`.
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
