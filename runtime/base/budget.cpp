// The meter: polls, budgets, and the heap that counts for them.
#include "runtime/base/budget.hpp"

#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include "runtime/base/interrupt.hpp"

namespace pxl {

constinit thread_local metering::Meter metering::meter;

namespace {

// What each allocation costs besides its bytes, which have to be written: measured with a loop of list appends on
// x86-64 (perf: about 40 ns for malloc and free of a small block).
constexpr int64_t allocation_ns = 40;
constexpr int64_t bytes_per_ns = 4;
// Blocks from this size on are refused where they are asked for; what small ones take is noticed at the next charge,
// where an exception harms nothing.
constexpr size_t refused_bytes = size_t{1} << 20;

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

// The heap. Not inlined: the compiler takes malloc and free of inlined ones for a mismatch. With a budget it costs a
// look at the block's size, without one a comparison. NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
[[gnu::noinline]] void* operator new(std::size_t size) {
  if (pxl::Budget* budget = pxl::current_budget(); budget && size >= pxl::refused_bytes) {
    if (!budget->affords(static_cast<int64_t>(std::min<std::size_t>(size, PTRDIFF_MAX / 4))))
      throw pxl::OverBudget{pxl::OverBudget::Resource::memory};
  }
  for (;;) {
    if (void* block = std::malloc(size == 0 ? 1 : size)) {
      if (pxl::current_budget()) pxl::count_taken(static_cast<int64_t>(malloc_usable_size(block)));
      return block;
    }
    const std::new_handler handler = std::get_new_handler();
    if (!handler) throw std::bad_alloc();
    handler();
  }
}
// All forms, so that none of another library's is paired with one of these.
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return operator new(size);
  } catch (...) {
    return nullptr;
  }
}
[[gnu::noinline]] void* operator new[](std::size_t size) { return operator new(size); }
[[gnu::noinline]] void* operator new[](std::size_t size, const std::nothrow_t& none) noexcept {
  return operator new(size, none);
}
[[gnu::noinline]] void operator delete(void* block) noexcept {
  if (pxl::current_budget() && block) pxl::count_freed(static_cast<int64_t>(malloc_usable_size(block)));
  std::free(block);
}
[[gnu::noinline]] void operator delete(void* block, std::size_t) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete(void* block, const std::nothrow_t&) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block, std::size_t) noexcept { operator delete(block); }
[[gnu::noinline]] void operator delete[](void* block, const std::nothrow_t&) noexcept { operator delete(block); }
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
