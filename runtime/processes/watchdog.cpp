#include "runtime/processes/watchdog.hpp"

#include "runtime/base/interrupt.hpp"

namespace pxl {

namespace {
using Clock = std::chrono::steady_clock;
constexpr auto between_looks = std::chrono::milliseconds(100);  // at the interrupt flag
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
    until_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
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
  while (!quits_) {
    if (!late_) {
      changed_.wait(lock);
      continue;
    }
    if (interrupt_requested()) end_(nullptr);
    if (Clock::now() >= until_) {
      const Error error = (*late_)();
      end_(&error);
    }
    changed_.wait_for(lock, between_looks);
  }
}

}  // namespace pxl
