// Cancellation of one task among several: while a CancelScope lives, its thread hears the scope's flag, and no request
// to interrupt the process (interrupt.hpp). An AttentionScope lets a task be asked something besides.
#pragma once

#include <atomic>
#include <functional>

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

/// While it lives, its thread runs `answer` in the middle of its work soon after `asked` was set, and goes on. A signal
/// handler may set `asked`; the work ends by Interrupted if the answer is false. Threads of the pool do not answer.
class AttentionScope {
 public:
  /// Both outlive the scope.
  AttentionScope(std::atomic<bool>& asked, const std::function<bool()>& answer) noexcept;
  ~AttentionScope();
  AttentionScope(const AttentionScope&) = delete;
  AttentionScope& operator=(const AttentionScope&) = delete;

 private:
  std::atomic<bool>* asked_before_;
  const std::function<bool()>* answer_before_;
};

/// The flag that interrupts this thread's work: a scope's, or that of the process. Threads of the pool, which have no
/// scopes, are given that of their caller.
std::atomic<bool>& interrupt_flag() noexcept;

}  // namespace pxl
