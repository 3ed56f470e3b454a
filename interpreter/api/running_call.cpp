// Each thread has a slot with the flag that cancels its call. Accesses to slots and to `ended` are sequentially
// consistent. A thread whose slot was occupied at the end of the process sees `ended` when it leaves its call, and
// stays there.
#include "interpreter/api/running_call.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/threads/fork.hpp"

namespace pxl::api {
namespace {

using namespace std::chrono_literals;
constexpr auto patience = 5s;
constexpr auto between_looks = 1ms;

class Slot;

struct Threads {
  std::mutex mutex;
  std::vector<Slot*> slots;
  std::atomic<bool> ended{false};
};

void end_calls();
void forget_other_threads();

Threads& threads() {
  static Threads& all = []() -> Threads& {
    auto* made = new Threads;  // never destroyed: other threads may run while the process ends
    hold_during_fork(made->mutex);
    on_forked_child(forget_other_threads);
    return *made;
  }();
  return all;
}

constinit thread_local const Slot* here = nullptr;  ///< this thread's slot, while the slot exists

/// A thread's entry in the list, while the thread lives.
class Slot {
 public:
  Slot() {
    const std::lock_guard lock(threads().mutex);
    threads().slots.push_back(this);
    here = this;
  }
  ~Slot() {
    const std::lock_guard lock(threads().mutex);
    std::erase(threads().slots, this);
    here = nullptr;
  }
  Slot(const Slot&) = delete;
  Slot& operator=(const Slot&) = delete;

  std::atomic<std::atomic<bool>*> cancel{nullptr};  ///< flag of the innermost call; null outside calls
};

Slot& own_slot() {
  static thread_local Slot own;
  return own;
}

/// Registers `end_calls` with `atexit`, which runs it among the destructors of statics, in reverse order of
/// registration. The first call of the library registers it when it begins and when it ends. Later calls register it at
/// doubling distances, for the statics that calls have made meanwhile.
void register_end() {
  static std::atomic<uint32_t> times{0};
  const uint32_t before = times.fetch_add(1, std::memory_order_relaxed);
  if ((before & (before + 1)) == 0 && before < (1u << 20)) std::atexit(end_calls);
}

void end_calls() {
  if (threads().ended.exchange(true)) return;
  const Slot* own = here;  // a script may have called its host, which called `exit`
  const auto until = std::chrono::steady_clock::now() + patience;
  for (bool running = true; running && std::chrono::steady_clock::now() < until;) {
    running = false;
    {
      const std::lock_guard lock(threads().mutex);
      for (const Slot* slot : threads().slots) {
        std::atomic<bool>* const flag = slot == own ? nullptr : slot->cancel.load();
        if (!flag) continue;
        flag->store(true);  // repeated, since a request ends one task of several
        running = true;
      }
    }
    if (running) std::this_thread::sleep_for(between_looks);
  }
}

void forget_other_threads() {
  std::erase_if(threads().slots, [](const Slot* slot) { return slot != here; });
}

}  // namespace

RunningCall::RunningCall(std::atomic<bool>& cancel) noexcept : outer_(own_slot().cancel.exchange(&cancel)) {
  register_end();
  if (outer_ || !threads().ended) return;
  own_slot().cancel = nullptr;
  for (;;) ::pause();
}

RunningCall::~RunningCall() {
  register_end();
  own_slot().cancel = outer_;
  if (outer_ || !threads().ended) return;
  for (;;) ::pause();
}

}  // namespace pxl::api
