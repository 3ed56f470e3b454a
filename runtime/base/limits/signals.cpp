#include "runtime/base/limits/signals.hpp"

#include <signal.h>

#include <cstdlib>

#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

void install(int number, struct sigaction action) {
  static char memory[1 << 16];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  sigemptyset(&action.sa_mask);
  action.sa_flags |= SA_RESTART | SA_ONSTACK;
  sigaction(number, &action, nullptr);
}

}  // namespace

namespace {

/// The alternate stack of a thread.
class SignalStack {
 public:
  SignalStack() noexcept {
    stack_t before{};
    if (sigaltstack(nullptr, &before) != 0 || (before.ss_flags & SS_DISABLE) == 0) return;
    void* const memory = std::malloc(bytes);
    if (!memory) return;
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = bytes;
    if (sigaltstack(&stack, nullptr) == 0)
      memory_ = memory;
    else
      std::free(memory);
  }
  ~SignalStack() {
    if (!memory_) return;
    stack_t now{};
    if (sigaltstack(nullptr, &now) == 0 && now.ss_sp == memory_) {
      stack_t none{};
      none.ss_flags = SS_DISABLE;
      sigaltstack(&none, nullptr);
    }
    std::free(memory_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  static constexpr size_t bytes = size_t{1} << 16;
  void* memory_ = nullptr;
};

}  // namespace

void ensure_signal_stack() noexcept {
  static thread_local const SignalStack stack;
  static_cast<void>(stack);
}

void handle_interrupts(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  install(SIGINT, action);
}

void handle_signal(int number, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  install(number, action);
}

InterruptRequests::InterruptRequests(Waiting waiting) {
  struct sigaction action {};
  action.sa_handler = [](int) { request_interrupt(); };
  sigemptyset(&action.sa_mask);
  if (waiting == Waiting::restarts) action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGINT, &action, &old_);
}
InterruptRequests::~InterruptRequests() { sigaction(SIGINT, &old_, nullptr); }

}  // namespace pxl
