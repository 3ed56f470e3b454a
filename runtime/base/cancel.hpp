// Cancellation of one task among several: while a CancelScope lives, its thread hears the scope's flag, and no request
// to interrupt the process (interrupt.hpp).
#pragma once

#include <atomic>

namespace pxl {

class CancelScope {
 public:
  /// `flag` outlives the scope. Interrupted, when thrown, resets it: one request ends one task.
  explicit CancelScope(std::atomic<bool>& flag) noexcept;
  ~CancelScope();
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

 private:
  std::atomic<bool>* before_;
};

/// The flag that interrupts this thread's work: a scope's, or that of the process. Threads of the pool, which have no
/// scopes, are given that of their caller.
std::atomic<bool>& interrupt_flag() noexcept;

}  // namespace pxl
