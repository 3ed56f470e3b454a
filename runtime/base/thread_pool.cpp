// Jobs are numbered. The caller publishes a number, and threads claim their chunks by compare-and-swap. Threads form
// groups: the last of a group that finishes publishes the number for all of them, so that the caller waits for few
// flags, each in a cache line of its own. Sleeping threads wait on a futex, and those that wake up wake further ones.
#include "runtime/base/thread_pool.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "runtime/base/cores.hpp"
#include "runtime/base/fork.hpp"
#include "runtime/base/pool_turn.hpp"

namespace pxl {

constinit thread_local bool runs_without_pool = false;

namespace {

void pause_once() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// 50 to 120 us, depending on the processor: longer than the time between two kernels of a training loop.
constexpr int spins_before_sleep = 5000;
// Chunks of a group: their claims lie in one cache line, which the group's threads share. Not measured.
constexpr int group_size = 8;
// Threads that one thread wakes: a system call takes 1 to 2 us for each. Not measured.
constexpr int woken_at_once = 8;
// The caller runs serially once losses exceed gains by `max_loss_ns`; at most `max_gain_ns` of earlier gains count.
// Serial periods double until parallelism gains `max_surplus_ns` between two of them. After a long period the loss may
// reach `max_loss_per_serial_ns` times its length, because the scheduler needs some ms to place a thread that wakes up.
// Not measured.
constexpr double max_gain_ns = 4e6, max_loss_ns = 2e6, max_loss_per_serial_ns = 0.025, max_surplus_ns = 20e6;
constexpr std::chrono::milliseconds min_backoff{2}, max_backoff{400};
// A serial period of `max_backoff` is extended, up to `max_extensions` times, while less than `min_idle_share` of the
// cores that the pool needs are idle. Then the pool is tried anyway, because processes of lower priority leave their
// cores to it.
constexpr int max_extensions = 4;
constexpr double min_idle_share = 0.5;
// The clock is read about once in `check_period_ns` of serial execution, and once in `max_check_interval` jobs.
constexpr double check_period_ns = 100e3, max_check_interval = 64;
// Waiting is measured only after `short_wait` spins, 1 to 2 us.
constexpr int short_wait = 64;
// Waking the pool costs less, in ns: if it took longer, the caller was preempted, which its run delay shows.
constexpr double max_waking_ns = 20e3;
// A chunk that takes longer, in ns of wall-clock time, may have been preempted: the next `samples_by_thread_clock`
// samples use the thread's CPU clock, which costs a system call.
constexpr double long_share = 50e3;
constexpr int samples_by_thread_clock = 64;
// Bounds, in ns, of the interval between two measurements of the caller's run delay, which cost a system call. Longer
// intervals include pauses that have nothing to do with the pool.
constexpr double shortest_window = 1e6, longest_window = 1e9;
// Time constant of the moving average over serial execution, in ns.
constexpr double remembered_alone = 50e6;

double nanoseconds(std::chrono::steady_clock::duration d) {
  return std::chrono::duration<double, std::nano>(d).count();
}

/// CPU time of the calling thread, in ns.
double thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// Time, in ns, that the calling thread was runnable but not running; 0 if the system does not report it.
double run_delay() {
  struct Statistics {
    int fd = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    Statistics() = default;
    ~Statistics() {
      if (fd >= 0) ::close(fd);
    }
    Statistics(const Statistics&) = delete;
    Statistics& operator=(const Statistics&) = delete;
  };
  static thread_local const Statistics statistics;
  char text[96];  // "time run, time waited, times it was given a processor"
  const ssize_t size = statistics.fd < 0 ? -1 : ::pread(statistics.fd, text, sizeof text - 1, 0);
  if (size <= 0) return 0;
  text[size] = '\0';
  char* second = text;
  std::strtoull(text, &second, 10);
  return static_cast<double>(std::strtoull(second, nullptr, 10));
}

/// Whether `value` is at or after `number`. Job numbers wrap around.
bool reached(int value, int number) {
  return static_cast<int>(static_cast<unsigned>(value) - static_cast<unsigned>(number)) >= 0;
}

}  // namespace

struct alignas(64) ThreadPool::Flag {
  std::atomic<int> value{0};
  std::atomic<int> sleepers{0};

  void publish(int number) {
    value.store(number, std::memory_order_seq_cst);
    wake();
  }
  void wake() {
    if (sleepers.load(std::memory_order_seq_cst) == 0) return;
    syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAKE_PRIVATE, woken_at_once, nullptr, nullptr, 0);
  }

  /// Whether the value reaches `number` soon.
  bool reaches_soon(int number) const {
    for (int spins = 0; spins < short_wait; ++spins) {
      if (reached(value.load(std::memory_order_acquire), number)) return true;
      pause_once();
    }
    return false;
  }

  /// Returns the value once it has reached `number`.
  int wait_for(int number) {
    for (int spins = 0;;) {
      const int now = value.load(std::memory_order_acquire);
      if (reached(now, number)) return now;
      if (idle_hook) {
        if (!idle_hook()) idle_hook = nullptr;
        continue;
      }
      pause_once();
      if (++spins < spins_before_sleep) continue;
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      const int seen = value.load(std::memory_order_seq_cst);
      if (!reached(seen, number)) {
        syscall(SYS_futex, reinterpret_cast<int*>(&value), FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
      }
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
      if (reached(value.load(std::memory_order_acquire), number)) wake();
      spins = 0;
    }
  }
};

struct ThreadPool::Group {
  Flag done;  ///< the last job whose chunks are all finished
  alignas(
      64) std::array<std::atomic<int>, group_size> claimed = {};  ///< by chunk: the last job in which it was claimed
  alignas(64) std::atomic<uint64_t> finished{0};                  ///< chunks, of all jobs
  uint64_t members = 0;
};

ThreadPool::ThreadPool(int threads)
    : size_(std::max(1, threads)), num_groups_((size_ - 1 + group_size - 1) / group_size) {
  started_ = std::make_unique<Flag[]>(1);
  groups_ = std::make_unique<Group[]>(static_cast<size_t>(num_groups_));
  for (int s = 1; s < size_; ++s) ++groups_[static_cast<size_t>((s - 1) / group_size)].members;
  for (int t = 1; t < size_; ++t) threads_.emplace_back([this, t] { work(t); });
}

ThreadPool::~ThreadPool() {
  quit_ = true;
  started_[0].publish(job_ + 1);
  for (std::thread& t : threads_) t.join();
}

bool ThreadPool::claim(int share, int job) {
  const auto chunk = static_cast<size_t>(share - 1);
  std::atomic<int>& claimed = groups_[chunk / group_size].claimed[chunk % group_size];
  int last = claimed.load(std::memory_order_relaxed);
  while (!reached(last, job)) {
    if (claimed.compare_exchange_weak(last, job, std::memory_order_acq_rel, std::memory_order_relaxed)) return true;
  }
  return false;
}

void ThreadPool::finish(int share, int job) {
  Group& group = groups_[static_cast<size_t>(share - 1) / group_size];
  if (group.members > 1 && (group.finished.fetch_add(1, std::memory_order_acq_rel) + 1) % group.members != 0) return;
  group.done.publish(job);
}

void ThreadPool::work(int thread) {
  // Signals are delivered to the main thread, which alone has an alternate stack for handlers.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (int next = 1;;) {
    // Skips jobs that others have finished. A claimed job stays open until its chunk is done.
    const int job = started_[0].wait_for(next);
    if (quit_) return;
    if (claim(thread, job)) {
      mode_.set();
      (*chunk_)(thread, size_);
      finish(thread, job);
    }
    next = static_cast<int>(static_cast<unsigned>(job) + 1u);
  }
}

void ThreadPool::run(const std::function<void(int, int)>& chunk, double expected_ns) {
  if (size_ == 1 || runs_without_pool || (serial_ && is_still_serial())) {
    chunk(0, 1);
    return;
  }
  // Long jobs are measured by the thread's clock.
  const int stands_for = sampling_.next(expected_ns);
  const bool sampled = stands_for > 0, drawn = stands_for > 1;
  const bool by_thread_clock = stands_for == 1 || (drawn && long_samples_ > 0);
  const Clock::time_point woken_at = sampled ? Clock::now() : Clock::time_point{};
  chunk_ = &chunk;
  mode_ = FloatMode::now();
  job_ = static_cast<int>(static_cast<unsigned>(job_) + 1u);
  started_[0].publish(job_);
  const Clock::time_point start = sampled ? Clock::now() : Clock::time_point{};
  const double ran_before = by_thread_clock ? thread_time() : 0;
  chunk(0, size_);
  double own = 0;  // time of the caller's chunk
  Clock::time_point done_at{};
  if (sampled) {
    done_at = Clock::now();
    own = nanoseconds(done_at - start);
    if (by_thread_clock) own = thread_time() - ran_before;
    if (drawn && by_thread_clock) --long_samples_;
    if (drawn && own > long_share) {
      if (!by_thread_clock) own = long_share;
      long_samples_ = samples_by_thread_clock;
    }
  }
  int done_by_others = size_ - 1;
  for (int s = 1; s < size_; ++s) {
    if (!claim(s, job_)) continue;
    chunk(s, size_);
    finish(s, job_);
    --done_by_others;
  }
  double waited = 0;
  for (int g = 0; g < num_groups_; ++g) {
    Flag& done = groups_[static_cast<size_t>(g)].done;
    if (done.reaches_soon(job_)) continue;
    const Clock::time_point from = Clock::now();
    done.wait_for(job_);
    waited += nanoseconds(Clock::now() - from);
  }
  // Chunks take about equally long: each one that another thread ran saved the time of the caller's.
  const double waking = std::min(nanoseconds(start - woken_at), max_waking_ns);
  parallel_gain_ns_ += (own * done_by_others - waking) * stands_for - waited;
  if (sampled) charge_delay(done_at);
  if (parallel_gain_ns_ > max_gain_ns) {
    surplus_ns_ += parallel_gain_ns_ - max_gain_ns;
    parallel_gain_ns_ = max_gain_ns;
    if (surplus_ns_ > max_surplus_ns) serial_backoff_ = Clock::duration::zero();
  } else if (parallel_gain_ns_ < -std::max(max_loss_ns, max_loss_per_serial_ns * nanoseconds(serial_backoff_))) {
    run_serially();
  }
}

// On a busy machine the caller competes with the pool's threads for cores. Run delay beyond that of serial execution is
// a loss.
void ThreadPool::charge_delay(Clock::time_point now) {
  const double window = nanoseconds(now - window_start_);
  if (window < shortest_window) return;
  const double delay = run_delay();
  if (window < longest_window && window_start_ != Clock::time_point{})
    parallel_gain_ns_ -= std::min(delay - window_delay_, window) - serial_delay_rate_ * window;
  window_start_ = now;
  window_delay_ = delay;
}

void ThreadPool::run_serially() {
  serial_backoff_ = std::clamp<Clock::duration>(serial_backoff_ * 2, min_backoff, max_backoff);
  window_start_ = checked_ = Clock::now();
  window_delay_ = run_delay();
  serial_until_ = window_start_ + serial_backoff_;
  core_times_ = serial_backoff_ == max_backoff ? core_times() : std::nullopt;
  extensions_ = unchecked_jobs_ = 0;
  serial_ = true;
  parallel_gain_ns_ = surplus_ns_ = 0;
}

bool ThreadPool::is_still_serial() {
  if (--unchecked_jobs_ > 0) return true;
  const Clock::time_point now = Clock::now();
  const double per_job = nanoseconds(now - checked_) / check_interval_;
  check_interval_ = static_cast<int>(std::clamp(check_period_ns / std::max(per_job, 1.0), 1.0, max_check_interval));
  unchecked_jobs_ = check_interval_;
  checked_ = now;
  if (now < serial_until_) return true;
  const double time = nanoseconds(now - window_start_), delay = run_delay();
  if (now < serial_until_ + serial_backoff_) {
    const double weight = time / (time + remembered_alone);
    serial_delay_rate_ += weight * (std::min((delay - window_delay_) / time, 1.0) - serial_delay_rate_);
  }
  window_start_ = now;
  window_delay_ = delay;
  if (extensions_ < max_extensions && !has_idle_cores()) {
    ++extensions_;
    serial_until_ = now + serial_backoff_;
    return true;
  }
  serial_ = false;
  return false;
}

/// Whether the cores of the affinity mask have been idle enough for the pool's threads, since the last call or the
/// start of the serial period. True if that is unknown.
bool ThreadPool::has_idle_cores() {
  if (!core_times_) return true;
  const std::optional<CoreTimes> before = std::exchange(core_times_, core_times());
  if (!core_times_) return true;
  const double ticks = static_cast<double>(core_times_->all - before->all);
  if (ticks <= 0) return true;
  return static_cast<double>(core_times_->idle - before->idle) / ticks * core_times_->cores >=
         min_idle_share * (size_ - 1);
}

namespace {

int requested_threads() {
  const char* asked = std::getenv("PXL_THREADS");
  const long wanted = asked ? std::strtol(asked, nullptr, 10) : 0;
  const long cores = usable_cores();
  return static_cast<int>(std::clamp(wanted > 0 ? wanted : cores, 1l, 64l));
}

/// The process's pool. The child of a fork has none of its threads, so it gets a pool of the same size when it needs
/// one; the old one, which cannot be destroyed without its threads, is leaked.
struct ProcessPool {
  std::atomic<ThreadPool*> pool{nullptr};
  std::mutex making;
  const int threads = requested_threads();

  ProcessPool() {
    hold_during_fork(making);
    on_forked_child([] { instance().pool.store(nullptr, std::memory_order_relaxed); });
  }
  ThreadPool& make() {
    const std::lock_guard lock(making);
    if (!pool.load()) pool.store(new ThreadPool(threads));
    return *pool.load();
  }
  static ProcessPool& instance() {
    static ProcessPool& all = *new ProcessPool;  // never destroyed: other threads may run while the process ends
    return all;
  }
};

std::atomic<bool> has_owner{false};  ///< a PoolTurn has the pool

}  // namespace

ThreadPool& thread_pool() {
  ProcessPool& process = ProcessPool::instance();
  ThreadPool* const made = process.pool.load(std::memory_order_acquire);
  return made ? *made : process.make();
}

PoolTurn::PoolTurn() noexcept
    : owns_(!has_owner.exchange(true, std::memory_order_acquire)),
      was_without_(runs_without_pool),
      generation_(fork_generation()) {
  static const bool reset_in_child = [] {
    on_forked_child([] { has_owner.store(false, std::memory_order_relaxed); });
    return true;
  }();
  static_cast<void>(reset_in_child);
  if (!owns_) runs_without_pool = true;
}

PoolTurn::~PoolTurn() {
  runs_without_pool = was_without_;
  if (owns_ && generation_ == fork_generation()) has_owner.store(false, std::memory_order_release);
}

}  // namespace pxl
