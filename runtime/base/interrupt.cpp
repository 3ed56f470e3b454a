// The interrupt flag: lock-free, so that a signal handler may set it.
#include "runtime/base/interrupt.hpp"

#include <atomic>

#include "runtime/base/budget.hpp"

namespace pxl {
namespace {
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not take a lock");
}  // namespace

void request_interrupt() noexcept { requested.store(true, std::memory_order_relaxed); }
void clear_interrupt() noexcept { requested.store(false, std::memory_order_relaxed); }
bool interrupt_requested() noexcept { return requested.load(std::memory_order_relaxed); }

void metering::poll() {
  // A cancellable look ignores Ctrl-C, which is meant for another thread.
  if (const Budget* b = current_budget(); b && b->cancelled()) {
    if (b->cancelled()->load(std::memory_order_relaxed)) throw Interrupted();
    return;
  }
  // The exchange selects one of several threads to throw: one request ends one task.
  if (interrupt_requested() && requested.exchange(false, std::memory_order_relaxed)) throw Interrupted();
}

void check_interrupt() {
  constexpr int64_t step_ns = 50;  // of what a loop does besides
  charge(step_ns);
  metering::poll();
}

}  // namespace pxl
