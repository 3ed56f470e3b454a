// The interrupt flag: lock-free, so that a signal handler may set it.
#include "runtime/base/interrupt.hpp"

#include <atomic>

namespace pxl {
namespace {
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not take a lock");
}  // namespace

void request_interrupt() noexcept { requested.store(true, std::memory_order_relaxed); }
void clear_interrupt() noexcept { requested.store(false, std::memory_order_relaxed); }
bool interrupt_requested() noexcept { return requested.load(std::memory_order_relaxed); }

void check_interrupt() {
  // The exchange decides which of several threads throws: one request ends one piece of work.
  if (interrupt_requested() && requested.exchange(false, std::memory_order_relaxed)) throw Interrupted();
}

}  // namespace pxl
