// The meter of work and memory: whatever loops or allocates charges it, and charging polls for interrupts.
// A run has no limits: a charge only polls. A look (check, the elaboration of schedule, graph and profile, the
// language server) has a Budget, and a charge beyond it throws OverBudget.
// The heap charges by itself: the global operator new counts for the thread's budget (budget.cpp).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace pxl {

/// The limits of a look. Work is an estimate in nanoseconds of one core, so that the same text ends at the same place
/// on every machine; the processor's clock is the last resort, for work that is estimated too low.
struct BudgetLimits {
  int64_t work_ns = 800'000'000;       ///< of the whole look
  int64_t part_ns = 250'000'000;       ///< of one part of it: a top-level statement
  int64_t memory_bytes = 256ll << 20;  ///< of the heap, more than what was there when the look began
  int64_t cpu_ns = 1'200'000'000;      ///< of the look's thread
  int64_t array_bytes = 16ll << 20;    ///< of one array: the elements of larger ones are left out
  int64_t kernel_ns = 20'000'000;      ///< of one op on arrays: the results of longer ones are left out
};

/// Thrown by a charge beyond the budget. No std::exception, so that nothing takes it for an error of the program.
struct OverBudget {
  enum class Resource : uint8_t { work, memory } resource;
};

/// The budget of one look. One thread spends it.
class Budget {
 public:
  /// `cancelled` may be null; else it ends the look with Interrupted, and Ctrl-C is left to other threads.
  explicit Budget(const BudgetLimits& limits = {}, const std::atomic<bool>* cancelled = nullptr);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const BudgetLimits& limits() const { return limits_; }
  /// Begins the next top-level statement: it may spend `part_ns` again, as far as the whole look allows.
  void begin_part();
  /// Whether the whole look has spent its budget: every further part would end at once.
  bool spent() const;

  // ---- for the meter
  /// Throws OverBudget and Interrupted.
  void spend(int64_t ns);
  /// Whether the thread may take this number of bytes more.
  bool affords(int64_t bytes) const { return memory_ + bytes <= limits_.memory_bytes; }
  void take(int64_t bytes) { memory_ += bytes; }
  const std::atomic<bool>* cancelled() const { return cancelled_; }

 private:
  void check_clock();
  BudgetLimits limits_;
  const std::atomic<bool>* cancelled_;
  int64_t work_ = 0, part_end_, memory_ = 0;
  int64_t began_cpu_ns_ = 0, look_at_clock_ns_ = 0;  ///< of the thread's and of the steady clock
  bool out_of_time_ = false;
};

namespace metering {
constexpr int64_t poll_ns = 10'000;  ///< of charged work, between two looks at interrupts and budget
struct Meter {
  int64_t until_poll = poll_ns;
  Budget* budget = nullptr;
};
extern constinit thread_local Meter meter;
void settle();
void poll();  ///< throws Interrupted
}  // namespace metering

/// The budget of this thread; null in a run.
inline Budget* current_budget() { return metering::meter.budget; }

/// Charges work: an estimate in nanoseconds. Throws Interrupted, and OverBudget in a look.
/// Only the thread that runs the program calls this, never a thread of the pool.
inline void charge(int64_t ns) {
  if ((metering::meter.until_poll -= ns) < 0) [[unlikely]]
    metering::settle();
}

/// Charges `n` steps of `ns` each, for any `n`.
void charge_steps(int64_t n, int64_t ns);

/// Memory that does not come from operator new: counted when it was taken and when it is freed.
void count_taken(int64_t bytes) noexcept;
void count_freed(int64_t bytes) noexcept;

/// Makes a budget (or none: null) that of this thread, until the end of the scope.
class BudgetScope {
 public:
  explicit BudgetScope(Budget* budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  metering::Meter before_;
};

/// Calls f(begin, end) for consecutive chunks of [0, n) and charges `ns` for each element, so that long loops over
/// elements hear Ctrl-C.
template <class F>
void charged_chunks(int64_t n, int64_t ns, F&& f) {
  constexpr int64_t chunk = 1 << 16;
  for (int64_t at = 0; at < n; at += chunk) {
    const int64_t end = n - at < chunk ? n : at + chunk;
    charge((end - at) * ns);
    f(at, end);
  }
}

}  // namespace pxl
