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

// About 50 to 120 microseconds: longer than what lies between two steps of a training loop, large batches included.
constexpr int spins_before_sleep = 5000;
// The caller works alone once waiting for threads that other work kept from running has cost it `most_lost` more than
// the team saved; what was saved before counts up to `most_credit`. Nanoseconds. The times alone double while trying
// the team again fails.
constexpr double most_credit = 4e6, most_lost = 2e6;
constexpr std::chrono::milliseconds shortest_alone{2}, longest_alone{100};
// Looking at the clock takes longer than calling the team: what a job saved is measured in one of so many, and waiting
// where it takes longer than so many spins, a microsecond or two.
constexpr unsigned sampled_jobs = 16;
constexpr int short_wait = 64;

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

  /// Whether the value reaches `number` soon.
  bool reaches_soon(int number) const {
    for (int spins = 0; spins < short_wait; ++spins) {
      if (reached(value.load(std::memory_order_acquire), number)) return true;
      pause_once();
    }
    return false;
  }

  /// Gives the value once it has reached `number`.
  int wait_for(int number) {
    for (int spins = 0;;) {
      const int now = value.load(std::memory_order_acquire);
      if (reached(now, number)) return now;
      if (idle_work) {
        if (!idle_work()) idle_work = nullptr;
        continue;
      }
      pause_once();
      if (++spins < spins_before_sleep) continue;
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
    const int job = started_[0].wait_for(next);
    if (quit_) return;
    if (claim(thread, job)) {
      mode_.set();
      (*share_)(thread);
      done_[static_cast<size_t>(thread)].publish(job);
    }
    next = static_cast<int>(static_cast<unsigned>(job) + 1u);
  }
}

void Team::run(const std::function<void(int)>& share) {
  if (size_ == 1 || (alone_ && Clock::now() < alone_until_)) {
    for (int s = 0; s < size_; ++s) share(s);
    return;
  }
  alone_ = false;
  const bool sampled = ++jobs_ % sampled_jobs == 0;
  const Clock::time_point start = sampled ? Clock::now() : Clock::time_point{};
  share_ = &share;
  mode_ = FloatMode::now();
  job_ = static_cast<int>(static_cast<unsigned>(job_) + 1u);
  started_[0].publish(job_);
  share(0);
  const auto nanoseconds = [](Clock::duration d) { return std::chrono::duration<double, std::nano>(d).count(); };
  const double own = sampled ? nanoseconds(Clock::now() - start) : 0;
  int done_by_others = 0;
  double waited = 0;
  for (int s = 1; s < size_; ++s) {
    if (claim(s, job_)) {
      share(s);
      continue;
    }
    Flag& done = done_[static_cast<size_t>(s)];
    if (!done.reaches_soon(job_)) {
      const Clock::time_point from = Clock::now();
      done.wait_for(job_);
      waited += nanoseconds(Clock::now() - from);
    }
    ++done_by_others;
  }
  // Equal shares take about equally long, so each one that another thread did saved the time of the caller's own.
  balance_ += own * done_by_others * sampled_jobs - waited;
  if (balance_ > most_credit) {
    balance_ = most_credit;
    alone_for_ = Clock::duration::zero();
  } else if (balance_ < -most_lost) {
    alone_for_ = std::clamp<Clock::duration>(alone_for_ * 2, shortest_alone, longest_alone);
    alone_until_ = Clock::now() + alone_for_;
    alone_ = true;
    balance_ = 0;
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
