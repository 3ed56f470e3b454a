#include "runtime/base/signals.hpp"

#include <signal.h>

#include "runtime/base/interrupt.hpp"

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
