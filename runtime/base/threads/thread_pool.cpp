// Jobs are numbered. The caller publishes a number, and threads claim their chunks by compare-and-swap. Threads form
// groups. The thread that finishes last in a group publishes the number for all of them: the caller waits for few
// flags, each in its own cache line. Sleeping threads wait on a futex, and those that wake up wake further ones.
#include "runtime/base/threads/thread_pool.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/threads/cores.hpp"
#include "runtime/base/threads/fork.hpp"
#include "runtime/base/threads/pool_turn.hpp"

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
// Chunks of a group: their claims are in one cache line, which the group's threads share.
constexpr int group_size = 8;
// Threads that one thread wakes: a system call takes 1 to 2 us for each.
constexpr int woken_at_once = 8;
// Waiting is measured only after `short_wait` spins, 1 to 2 us.
constexpr int short_wait = 64;
// Chunk time of a sampled short job, in ns, above which the job may have been preempted. The run delay of the next
// `samples_with_delay` samples is then read, which costs a system call.
constexpr double long_share = 50e3;
constexpr int samples_with_delay = 64;

/// Time on the clock on the wall, in ns.
double wall_time() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// CPU time of the calling thread, in ns.
double thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

/// Time, in ns, that the calling thread was runnable but not running; nullopt if the system does not report it.
std::optional<double> run_delay() {
  struct Statistics {
    int fd = -1;
    std::optional<uint32_t> generation;
    Statistics() = default;
    ~Statistics() {
      if (fd >= 0) ::close(fd);
    }
    Statistics(const Statistics&) = delete;
    Statistics& operator=(const Statistics&) = delete;
  };
  auto& statistics = of_thread<Statistics>();
  if (statistics.generation != fork_generation()) {  // the child of a fork would read its parent's
    if (statistics.fd >= 0) ::close(statistics.fd);
    statistics.fd = ::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    statistics.generation = fork_generation();
  }
  char text[96];  // "time run, time waited, times it was given a processor"
  const ssize_t size = statistics.fd < 0 ? -1 : ::pread(statistics.fd, text, sizeof text - 1, 0);
  if (size <= 0) return std::nullopt;
  text[size] = '\0';
  char* second = text;
  std::strtoull(text, &second, 10);
  return static_cast<double>(std::strtoull(second, nullptr, 10));
}

/// A clock of the calling thread, in ns. It stops while the thread waits for a core, but not while the thread waits for
/// a page, a file or a lock: division saves that time as well. Without run delays from the system, the clock is the
/// thread's CPU time.
double own_clock() {
  const std::optional<double> delay = run_delay();
  return delay ? wall_time() - *delay : thread_time();
}

class MachineReadings final : public PoolReadings {
 public:
  double now() override { return wall_time(); }
  double run_delay() override { return pxl::run_delay().value_or(0); }
  std::optional<CoreTimes> core_times() override { return pxl::core_times(); }
};

PoolReadings& machine_readings() {
  static MachineReadings& readings = *new MachineReadings;
  return readings;
}

/// How many groups a pool with this number of threads has.
int groups_of(int threads) { return std::max(0, threads - 1 + group_size - 1) / group_size; }

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

ThreadPool::ThreadPool(int threads, std::vector<int> cores)
    : cores_(std::move(cores)),
      started_(std::make_unique<Flag[]>(1)),
      groups_(std::make_unique<Group[]>(static_cast<size_t>(groups_of(threads)))),
      size_(start(threads)),
      num_groups_(groups_of(size_)),
      policy_(size_, machine_readings()) {
  for (int s = 1; s < size_; ++s) ++groups_[static_cast<size_t>((s - 1) / group_size)].members;
}

int ThreadPool::start(int threads) {
  threads_.reserve(static_cast<size_t>(std::max(0, threads - 1)));
  for (int t = 1; t < threads; ++t) {
    std::optional<Thread> made = try_to_start_thread([this, t] { work(t); });
    if (!made) break;
    threads_.push_back(std::move(*made));
  }
  return static_cast<int>(threads_.size()) + 1;
}

ThreadPool::~ThreadPool() {
  quit_ = true;
  started_[0].publish(job_ + 1);
  for (Thread& t : threads_) t.join();
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
  if (const auto t = static_cast<size_t>(thread); t < cores_.size()) pin_thread(cores_[t]);
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
  if (size_ == 1 || runs_without_pool || policy_.works_serially(expected_ns)) {
    chunk(0, 1);
    return;
  }
  DividedJob job;
  job.stands_for = sampling_.next(expected_ns);
  const bool sampled = job.stands_for > 0, drawn = job.stands_for > 1;
  const bool without_delay = job.stands_for == 1 || (drawn && long_samples_ > 0);
  const double woken_at = sampled ? wall_time() : 0;
  chunk_ = &chunk;
  mode_ = FloatMode::now();
  job_ = static_cast<int>(static_cast<unsigned>(job_) + 1u);
  started_[0].publish(job_);
  const double start = sampled ? wall_time() : 0;
  const double ran_before = without_delay ? own_clock() : start;
  chunk(0, size_);
  if (sampled) {
    job.waking = start - woken_at;
    job.done_at = wall_time();
    job.own = (without_delay ? own_clock() : job.done_at) - ran_before;
    if (drawn && without_delay) --long_samples_;
    if (drawn && job.own > long_share) {
      if (!without_delay) job.own = long_share;
      long_samples_ = samples_with_delay;
    }
  }
  job.done_by_others = size_ - 1;
  for (int s = 1; s < size_; ++s) {
    if (!claim(s, job_)) continue;
    chunk(s, size_);
    finish(s, job_);
    --job.done_by_others;
  }
  for (int g = 0; g < num_groups_; ++g) {
    Flag& done = groups_[static_cast<size_t>(g)].done;
    if (done.reaches_soon(job_)) continue;
    const double from = wall_time();
    done.wait_for(job_);
    job.waited += wall_time() - from;
  }
  policy_.add(job);
}

namespace {

int requested_threads() {
  const auto wanted = number_of(Setting::threads);
  return wanted ? static_cast<int>(*wanted) : std::clamp(usable_cores(), 1, 64);
}

/// The cores to bind threads to: with fewer threads than cores, other processes may have the rest.
std::vector<int> requested_cores(int threads) {
  if (!is_on(Setting::pin)) return {};
  std::vector<int> cores = core_numbers();
  if (cores.size() != static_cast<size_t>(threads)) cores.clear();
  return cores;
}

/// The process's pool. The child of a fork has no thread of the pool, so it gets a pool with the same size when it
/// needs one; the old one, which cannot be destroyed without its threads, is leaked.
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
    if (!pool.load()) pool.store(new ThreadPool(threads, requested_cores(threads)));
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
