// A limit on the time of calls that cannot be given up. The start and the end of MPI wait for all processes of a job,
// if need be for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/threads/start_thread.hpp"

namespace pxl {

class Watchdog {
 public:
  /// Ends the process and does not return. The error says why; it is null if the user has requested the end.
  using End = std::function<void(const Error*)>;

  /// Throws Error if the system makes no thread.
  explicit Watchdog(End end);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Runs `call`. If it takes longer, the process ends with the error that `late` returns; another thread calls `late`.
  /// The time in which this process was stopped does not count. An interrupt ends the process at once.
  void during(double seconds, const std::function<Error()>& late, const std::function<void()>& call);

 private:
  void watch();

  End end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  double left_ = 0;                               ///< seconds
  const std::function<Error()>* late_ = nullptr;  ///< null while no call is watched
  bool quits_ = false;
  Thread thread_;
};

}  // namespace pxl
