#include "runtime/processes/watchdog.hpp"

#include <algorithm>

#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto between_looks = std::chrono::milliseconds(100);  // at the interrupt flag
constexpr double max_look =
    1;  ///< seconds between two looks, on a busy machine; more than that is a process that was stopped
}  // namespace

Watchdog::Watchdog(End end) : end_(std::move(end)) {
  thread_ = start_thread("watches the start of the job", [this] { watch(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    quits_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Watchdog::during(double seconds, const std::function<Error()>& late, const std::function<void()>& call) {
  const auto set = [&](const std::function<Error()>* to) {
    const std::lock_guard lock(mutex_);
    left_ = seconds;
    late_ = to;
    changed_.notify_one();
  };
  struct Reset {
    decltype(set)& own;
    ~Reset() { own(nullptr); }
  } const reset{set};
  set(&late);
  call();
}

void Watchdog::watch() {
  std::unique_lock lock(mutex_);
  for (auto last = Clock::now(); !quits_;) {
    if (!late_) {
      changed_.wait(lock);
      last = Clock::now();
      continue;
    }
    if (interrupt_requested()) end_(nullptr);
    const auto now = Clock::now();
    left_ -= std::min(std::chrono::duration<double>(now - last).count(), max_look);
    last = now;
    if (left_ <= 0) {
      const Error error = (*late_)();
      end_(&error);
    }
    changed_.wait_for(lock, between_looks);
  }
}

}  // namespace pxl
