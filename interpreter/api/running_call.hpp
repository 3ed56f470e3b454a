// The library's calls that still run when their process ends. `exit` destroys the statics of other libraries (the
// parser, matrix products), which calls in other threads still use. The end of the process therefore waits for these
// calls.
#pragma once

#include <atomic>

namespace pxl::api {

/// A call of this thread, from its first line to its last. When the process ends, the call is cancelled, and its thread
/// never returns to its caller. The process does not wait longer than a few seconds for a call.
class RunningCall {
 public:
  /// `cancel` must outlive the call.
  explicit RunningCall(std::atomic<bool>& cancel) noexcept;
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  std::atomic<bool>* outer_;
};

}  // namespace pxl::api
