// The interrupt flag: lock-free, so that a signal handler may set it.
#include "runtime/base/limits/interrupt.hpp"

#include <atomic>

#include "runtime/base/limits/budget.hpp"
#include "runtime/base/limits/cancel.hpp"

namespace pxl {
namespace {
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler must not take a lock");
/// The flags that interrupt and query this thread. One object holds them, so that a poll finds both by one look-up.
struct Hearing {
  std::atomic<bool>* flag = nullptr;
  std::atomic<bool>* asked = nullptr;
  const std::function<bool()>* answer = nullptr;
};
constinit thread_local Hearing hearing;

void answer() {
  hearing.asked->store(false, std::memory_order_relaxed);
  if (!(*hearing.answer)()) throw Interrupted();
}
}  // namespace

void request_interrupt() noexcept { requested.store(true, std::memory_order_relaxed); }
void clear_interrupt() noexcept { requested.store(false, std::memory_order_relaxed); }
bool interrupt_requested() noexcept { return interrupt_flag().load(std::memory_order_relaxed); }

std::atomic<bool>& interrupt_flag() noexcept { return hearing.flag ? *hearing.flag : requested; }
CancelScope::CancelScope(std::atomic<bool>& flag) noexcept : before_(hearing.flag) { hearing.flag = &flag; }
CancelScope::~CancelScope() { hearing.flag = before_; }
AttentionScope::AttentionScope(std::atomic<bool>& asked, const std::function<bool()>& answer) noexcept
    : asked_before_(hearing.asked), answer_before_(hearing.answer) {
  hearing.asked = &asked;
  hearing.answer = &answer;
}
AttentionScope::~AttentionScope() {
  hearing.asked = asked_before_;
  hearing.answer = answer_before_;
}

void metering::poll() {
  // A cancellable look ignores Ctrl-C, which is meant for another thread.
  if (const Budget* b = current_budget(); b && b->cancelled()) {
    if (b->cancelled()->load(std::memory_order_relaxed)) throw Interrupted();
    return;
  }
  if (hearing.asked && hearing.asked->load(std::memory_order_relaxed)) answer();
  // The exchange selects one of several threads to throw: one request ends one task.
  std::atomic<bool>& flag = interrupt_flag();
  if (flag.load(std::memory_order_relaxed) && flag.exchange(false, std::memory_order_relaxed)) throw Interrupted();
}

void check_interrupt() {
  constexpr int64_t step_ns = 50;  // of what a loop does besides
  charge(step_ns);
  metering::poll();
}

}  // namespace pxl
