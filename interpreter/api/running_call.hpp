// The calls of the library that run while their process ends. `exit` destroys what other libraries keep in statics (the
// parser's, those of matrix products), and calls in other threads still use it: the end waits until they are over.
#pragma once

#include <atomic>

namespace pxl::api {

/// A call of this thread, from its first line to its last. When the process ends, the call is cancelled, and its thread
/// never returns to its caller. A call that does not end within seconds is left alone.
class RunningCall {
 public:
  /// `cancel` outlives the call.
  explicit RunningCall(std::atomic<bool>& cancel) noexcept;
  ~RunningCall();
  RunningCall(const RunningCall&) = delete;
  RunningCall& operator=(const RunningCall&) = delete;

 private:
  std::atomic<bool>* outer_;
};

}  // namespace pxl::api
