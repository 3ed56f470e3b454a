// Handlers of signals that leave the stack of the interrupted code alone.
#pragma once

#include <signal.h>

#include <cstdint>

namespace pxl {

/// Calls `handler` on an alternate stack on Ctrl-C; system calls are restarted. The alternate stack is necessary
/// because JIT-compiled GEMM code of libraries may keep live data below the stack pointer.
void handle_interrupts(void (*handler)(int));
/// The same for any signal.
void handle_signal(int number, void (*handler)(int, siginfo_t*, void*));

/// Gives this thread an alternate stack, until it ends, if it has none. The reason above applies wherever a handler
/// with SA_ONSTACK may interrupt code of this project. Cheap after the first call of a thread.
void ensure_signal_stack() noexcept;

/// During its lifetime Ctrl-C requests an interrupt and does not end the process.
class InterruptRequests {
 public:
  /// Whether Ctrl-C restarts or ends a system call that waits.
  enum class Waiting : uint8_t { restarts, ends };
  explicit InterruptRequests(Waiting waiting);
  ~InterruptRequests();
  InterruptRequests(const InterruptRequests&) = delete;
  InterruptRequests& operator=(const InterruptRequests&) = delete;

 private:
  struct sigaction old_ {};
};

}  // namespace pxl
