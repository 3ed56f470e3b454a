// Barriers by flags: each thread publishes the number of the barrier (or job) it has reached and waits until the others
// have published as much. A flag has one writer, so publishing is a store; sleeping waiters are woken through a futex.
#include "runtime/base/team.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
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

}  // namespace

struct alignas(64) Team::Flag {
  std::atomic<int> value{0};
  std::atomic<int> sleepers{0};

  void publish(int number) {
    value.store(number, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) {
      syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
    }
  }

  void wait_for(int number) {
    for (int spins = 0;;) {
      // Numbers wrap around; their difference tells which came first.
      const int now = value.load(std::memory_order_acquire);
      if (static_cast<int>(static_cast<unsigned>(now) - static_cast<unsigned>(number)) >= 0) return;
      pause_once();
      if (++spins < spins_before_sleep) continue;
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      const int seen = value.load(std::memory_order_seq_cst);
      if (static_cast<int>(static_cast<unsigned>(seen) - static_cast<unsigned>(number)) < 0) {
        syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      }
      sleepers.fetch_sub(1, std::memory_order_relaxed);
      spins = 0;
    }
  }
};

Team::Team(int threads) : size_(std::max(1, threads)) {
  arrived_ = std::make_unique<Flag[]>(static_cast<size_t>(size_));
  done_ = std::make_unique<Flag[]>(static_cast<size_t>(size_));
  started_ = std::make_unique<Flag>();
  for (int t = 1; t < size_; ++t) threads_.emplace_back([this, t] { work(t); });
}

Team::~Team() {
  quit_ = true;
  started_->publish(++jobs_);
  for (std::thread& t : threads_) t.join();
}

void Team::work(int thread) {
  for (unsigned job = 1;; ++job) {
    started_->wait_for(static_cast<int>(job));
    if (quit_) return;
    (*body_)(thread);
    done_[thread].publish(static_cast<int>(job));
  }
}

void Team::run(const std::function<void(int)>& body) {
  if (size_ == 1) {
    body(0);
    return;
  }
  body_ = &body;
  const int job = static_cast<int>(static_cast<unsigned>(jobs_) + 1u);
  jobs_ = job;
  started_->publish(job);
  body(0);
  for (int t = 1; t < size_; ++t) done_[t].wait_for(job);
}

void Team::barrier(int thread) {
  if (size_ == 1) return;
  Flag& mine = arrived_[thread];
  const int number = static_cast<int>(static_cast<unsigned>(mine.value.load(std::memory_order_relaxed)) + 1u);
  mine.publish(number);
  for (int t = 0; t < size_; ++t) {
    if (t != thread) arrived_[t].wait_for(number);
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
