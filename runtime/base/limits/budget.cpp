// The meter: polls and budgets. The heap that counts for them is in heap/operator_new.cpp.
#include "runtime/base/limits/budget.hpp"

#include <time.h>

#include <algorithm>
#include <limits>

#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

constinit thread_local metering::Meter metering::meter;

namespace {

// Cost of an allocation besides its bytes, which have to be written. Measured on x86-64 with a loop of list appends:
// about 40 ns for malloc and free of a small block (perf).
constexpr int64_t allocation_ns = 40;
constexpr int64_t bytes_per_ns = 4;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t clock_scale = 20;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr int64_t clock_scale = 20;
#else
constexpr int64_t clock_scale = 1;
#endif
#else
constexpr int64_t clock_scale = 1;
#endif

int64_t now_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

Budget::Budget(const BudgetLimits& limits, const std::atomic<bool>* cancelled)
    : limits_(limits),
      cancelled_(cancelled),
      part_end_(limits.work_ns),
      began_cpu_ns_(now_ns(CLOCK_THREAD_CPUTIME_ID)),
      look_at_clock_ns_(now_ns(CLOCK_MONOTONIC) + limits.cpu_ns * clock_scale) {}

void Budget::begin_part() { part_end_ = work_ + limits_.part_ns; }

bool Budget::spent() const { return out_of_time_ || work_ > limits_.work_ns; }

void Budget::check_clock() {
  // The clock of the thread costs a system call. It never runs faster than the steady one.
  const int64_t now = now_ns(CLOCK_MONOTONIC);
  if (now < look_at_clock_ns_) return;
  const int64_t left = limits_.cpu_ns * clock_scale - (now_ns(CLOCK_THREAD_CPUTIME_ID) - began_cpu_ns_);
  if (left <= 0)
    out_of_time_ = true;
  else
    look_at_clock_ns_ = now + left;
}

void Budget::spend(int64_t ns) {
  work_ += std::min(ns, std::numeric_limits<int64_t>::max() / 4 - work_);
  if (!out_of_time_) check_clock();
  if (out_of_time_ || work_ > limits_.work_ns || work_ > part_end_) throw OverBudget{OverBudget::Resource::work};
  if (memory_ > limits_.memory_bytes) throw OverBudget{OverBudget::Resource::memory};
}

void metering::settle() {
  const int64_t spent = poll_ns - meter.until_poll;
  meter.until_poll = poll_ns;
  poll();
  if (meter.budget) meter.budget->spend(spent);
}

void charge_steps(int64_t n, int64_t ns) {
  constexpr int64_t most = std::numeric_limits<int64_t>::max() / 8;
  int64_t total = 0;
  charge(n <= 0 ? 0 : __builtin_mul_overflow(n, ns, &total) ? most : std::min(total, most));
}

void count_taken(int64_t bytes) noexcept {
  metering::Meter& m = metering::meter;
  if (!m.budget) return;
  m.budget->take(bytes);
  m.until_poll -= allocation_ns + bytes / bytes_per_ns;
  if (!m.budget->affords(0)) m.until_poll = std::min<int64_t>(m.until_poll, 0);
}

void count_freed(int64_t bytes) noexcept {
  if (Budget* b = current_budget()) b->take(-bytes);
}

BudgetScope::BudgetScope(Budget* budget) : before_(metering::meter) { metering::meter = {metering::poll_ns, budget}; }
BudgetScope::~BudgetScope() { metering::meter = before_; }

}  // namespace pxl
