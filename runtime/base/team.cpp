// Jobs are numbered. The caller publishes a number, threads claim their shares of it by compare-and-swap, and publish
// the number when they are done. A flag that somebody sleeps on is a futex.
#include "runtime/base/team.hpp"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdlib>

namespace pxl {

namespace {

void pause_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// About 20 to 50 microseconds: longer than what lies between two steps of a training loop.
constexpr int spins_before_sleep = 2000;
// A late thread costs this much, a punctual one pays one back; at the limit the caller works alone.
constexpr int late_cost = 64, late_limit = 256;
constexpr std::chrono::microseconds tolerated{30};
constexpr int shortest_penalty = 1 << 10, longest_penalty = 1 << 16;  // jobs

/// Job numbers wrap around; their difference tells which came first.
bool reached(int value, int number) {
  return static_cast<int>(static_cast<unsigned>(value) - static_cast<unsigned>(number)) >= 0;
}

}  // namespace

struct alignas(64) Team::Flag {
  std::atomic<int> value{0};
  std::atomic<int> sleepers{0};

  void publish(int number) {
    value.store(number, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) {
      syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
  }

  /// Gives the value once it has reached `number`, and whether that took long.
  std::pair<int, bool> wait_for(int number) {
    bool late = false;
    for (int spins = 0;;) {
      const int now = value.load(std::memory_order_acquire);
      if (reached(now, number)) return {now, late};
      pause_once();
      if (++spins < spins_before_sleep) continue;
      late = true;
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      const int seen = value.load(std::memory_order_seq_cst);
      if (!reached(seen, number)) {
        syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      }
      sleepers.fetch_sub(1, std::memory_order_relaxed);
      spins = 0;
    }
  }
};

Team::Team(int threads) : size_(std::max(1, threads)) {
  const auto count = static_cast<size_t>(size_);
  started_ = std::make_unique<Flag[]>(1);
  claimed_ = std::make_unique<Flag[]>(count);
  done_ = std::make_unique<Flag[]>(count);
  for (int t = 1; t < size_; ++t) threads_.emplace_back([this, t] { work(t); });
}

Team::~Team() {
  quit_ = true;
  started_[0].publish(job_ + 1);
  for (std::thread& t : threads_) t.join();
}

bool Team::claim(int share, int job) {
  std::atomic<int>& claimed = claimed_[static_cast<size_t>(share)].value;
  int last = claimed.load(std::memory_order_relaxed);
  while (!reached(last, job)) {
    if (claimed.compare_exchange_weak(last, job, std::memory_order_acq_rel, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Team::work(int thread) {
  // Signals are the first thread's: only that one has a stack of its own for their handlers.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (int next = 1;;) {
    // Jobs that others finished meanwhile are skipped. The claim keeps this one open until the share is done.
    const int job = started_[0].wait_for(next).first;
    if (quit_) return;
    if (claim(thread, job)) {
      (*share_)(thread);
      done_[static_cast<size_t>(thread)].publish(job);
    }
    next = static_cast<int>(static_cast<unsigned>(job) + 1u);
  }
}

void Team::run(const std::function<void(int)>& share) {
  if (size_ == 1 || alone_ > 0) {
    alone_ = std::max(0, alone_ - 1);
    for (int s = 0; s < size_; ++s) share(s);
    return;
  }
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  share_ = &share;
  job_ = static_cast<int>(static_cast<unsigned>(job_) + 1u);
  started_[0].publish(job_);
  share(0);
  bool late = false;
  for (int s = 1; s < size_; ++s) {
    if (claim(s, job_)) {
      share(s);
      continue;
    }
    const Clock::time_point own_end = Clock::now();
    if (!done_[static_cast<size_t>(s)].wait_for(job_).second) continue;
    // Equal shares take about equally long, so a thread that needs twice the caller's time was kept from working.
    late = late || Clock::now() - own_end > (own_end - start) + tolerated;
  }
  late_ = late ? late_ + late_cost : std::max(0, late_ - 1);
  if (late_ >= late_limit) {
    penalty_ = std::clamp(penalty_ * 2, shortest_penalty, longest_penalty);
    alone_ = penalty_;
    late_ = 0;
  } else if (late_ == 0) {
    penalty_ = 0;
  }
}

Team& team() {
  static Team the_team([] {
    const char* asked = std::getenv("PXL_THREADS");
    const long wanted = asked ? std::strtol(asked, nullptr, 10) : 0;
    const long cores = static_cast<long>(std::max(1u, std::thread::hardware_concurrency()));
    return static_cast<int>(std::clamp(wanted > 0 ? wanted : cores, 1l, 64l));
  }());
  return the_team;
}

}  // namespace pxl
