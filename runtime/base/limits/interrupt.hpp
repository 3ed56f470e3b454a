// Ctrl-C: one flag that a signal handler sets and that long work polls.
#pragma once

#include <exception>

namespace pxl {

/// Thrown by check_interrupt; carries no diagnostic, the command exits with 130 and the REPL goes on.
class Interrupted : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// Async-signal-safe.
void request_interrupt() noexcept;
void clear_interrupt() noexcept;
bool interrupt_requested() noexcept;
/// Throws Interrupted (and clears the flag) if an interrupt was requested, and charges a step of a loop (budget.hpp).
/// Costs a relaxed load and a subtraction. Work that is not a loop of small steps charges its own estimate.
void check_interrupt();

}  // namespace pxl
