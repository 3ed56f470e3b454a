#include "runtime/base/signals.hpp"

#include <signal.h>

namespace pxl {

void handle_interrupts(void (*handler)(int)) {
  static char memory[1 << 16];
  stack_t stack{};
  stack.ss_sp = memory;
  stack.ss_size = sizeof memory;
  sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_handler = handler;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace pxl
