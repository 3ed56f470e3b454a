// A team of threads that work on one job together: each does its share of every step, and they meet at barriers that
// cost about as much as a cache miss. Libraries' own thread pools wake up in tens of microseconds, which is longer than
// a step of a small network.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

namespace pxl {

class Team {
 public:
  /// `threads` counts the caller; 1 makes no thread at all.
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  /// Runs `body(thread)` on every thread, thread 0 being the caller; returns when all have returned. `body` must not
  /// throw. Threads that wait spin for some microseconds and then sleep, so that an idle prompt uses no processor.
  void run(const std::function<void(int)>& body);

  /// Inside `run`: returns when every thread of the team has called it.
  void barrier(int thread);

 private:
  struct alignas(64) Flag;
  void work(int thread);

  int size_;
  std::unique_ptr<Flag[]> arrived_;  ///< by thread: the number of the last barrier it reached
  std::unique_ptr<Flag> started_;    ///< number of the last job
  std::unique_ptr<Flag[]> done_;     ///< by thread: the number of the last job it finished
  std::vector<std::thread> threads_;
  const std::function<void(int)>* body_ = nullptr;
  int jobs_ = 0;
  bool quit_ = false;
};

/// The process's team: PXL_THREADS threads, by default one a core, at most 64. Made when first asked for.
Team& team();

/// The share of `units` that thread `thread` of `threads` does: [begin, end), equal up to one `grain`.
struct Share {
  int64_t begin, end;
};
constexpr Share share_of(int64_t units, int thread, int threads, int64_t grain = 1) {
  const int64_t grains = (units + grain - 1) / grain;
  const auto at = [&](int t) {
    const int64_t edge = grains * t / threads * grain;
    return edge < units ? edge : units;
  };
  return {at(thread), at(thread + 1)};
}

}  // namespace pxl
