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

class Team {
 public:
  /// `threads` counts the caller; 1 makes no thread at all.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  /// Runs `share(0)` to `share(size - 1)`, each once, on whichever threads are free; the caller takes part and returns
  /// when all are done, in its floating-point mode. `share` must not throw. From one thread at a time.
  /// Threads that wait spin for some microseconds and then sleep, so that an idle prompt uses no processor. A share
  /// whose thread has not come by when the caller is done with its own is run by the caller; and where waiting for
  /// threads that other work keeps from running costs more than the team saves, the caller works alone for a while.
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
  unsigned jobs_ = 0;   ///< so far; wraps around
  double balance_ = 0;  ///< nanoseconds that the team saved of late, less those lost in waiting
  bool alone_ = false;
  Clock::time_point alone_until_{};  ///< until when the caller works alone
  Clock::duration alone_for_{0};     ///< how long the last time
};

/// What this thread does while it waits for others of a team, instead of spinning: a piece of some ten nanoseconds at a
/// time, until it says that nothing is left. Null: nothing. For wishes, which may come late or never.
inline thread_local bool (*idle_work)() = nullptr;

/// The process's team: PXL_THREADS threads, by default one a core, at most 64. Made when first asked for.
Team& team();

/// The share of `units` that is number `share` of `shares`: [begin, end), equal up to one `grain`.
struct Share {
  int64_t begin, end;
};
constexpr Share share_of(int64_t units, int share, int shares, int64_t grain = 1) {
  const int64_t grains = (units + grain - 1) / grain;
  const auto at = [&](int s) {
    const int64_t edge = grains * s / shares * grain;
    return edge < units ? edge : units;
  };
  return {at(share), at(share + 1)};
}

}  // namespace pxl
