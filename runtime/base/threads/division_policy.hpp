// Decides whether a thread pool divides its jobs or works serially, by the measured gain of division. The policy reads
// the clock and the machine through an interface, so that a test can drive it through days in a moment.
#pragma once

#include <optional>

#include "runtime/base/threads/cores.hpp"

namespace pxl {

/// The readings of the machine that the policy uses. Times are in ns.
class PoolReadings {
 public:
  PoolReadings() = default;
  PoolReadings(const PoolReadings&) = delete;
  PoolReadings& operator=(const PoolReadings&) = delete;
  virtual ~PoolReadings() = default;

  /// The time on a clock that never goes back.
  virtual double now() = 0;
  /// Time that the calling thread was runnable but not running; 0 if the system does not report it.
  virtual double run_delay() = 0;
  virtual std::optional<CoreTimes> core_times() = 0;
};

/// Measurements of a divided job. Times are in ns.
struct DividedJob {
  int stands_for = 1;      ///< jobs; 0: only the wait was measured
  double own = 0;          ///< time of the caller's chunk, without that in which it waited for a core
  double waking = 0;       ///< time that the caller took to wake the others
  double waited = 0;       ///< time that the caller waited for the others at the end
  double done_at = 0;      ///< when the caller's chunk was done; only where stands_for > 0
  int done_by_others = 0;  ///< chunks
};

/// Waiting for threads that do not run costs more than division gains, if other work uses the machine's cores. The
/// policy sums gains and losses, and works serially for a while once losses exceed gains. The period doubles while
/// division goes on losing. The policy checks for the period's end before each long job, and before about one in
/// `check_period_ns` of short ones. A period that was too much therefore costs one long job, however long a program's
/// jobs are.
class DivisionPolicy {
 public:
  /// The number of `threads` includes the caller. `readings` outlives the policy.
  DivisionPolicy(int threads, PoolReadings& readings) : threads_(threads), readings_(readings) {}

  /// Whether the next job runs in one chunk. `expected_ns`: its estimated time on one core; 0: unknown.
  bool works_serially(double expected_ns) { return serial_ && !has_serial_period_ended(expected_ns); }
  void add(const DividedJob& job);

 private:
  bool has_serial_period_ended(double expected_ns);
  void charge_delay(double now);
  void begin_serial_period();
  bool has_idle_cores();

  int threads_;
  PoolReadings& readings_;
  double gain_ = 0;     ///< recent gain over serial execution, minus losses
  double surplus_ = 0;  ///< gain beyond the most that counts, since the last serial period
  bool serial_ = false;
  double serial_until_ = 0;              ///< end of the current serial period
  double backoff_ = 0;                   ///< length of the last serial period
  int extensions_ = 0;                   ///< how often the current serial period was extended
  double unchecked_ = 0;                 ///< estimated time of serial jobs since the clock was read
  std::optional<CoreTimes> core_times_;  ///< at the start of the serial period or its last extension
  std::optional<double> window_start_;   ///< of the current measurement of delays
  double window_delay_ = 0;              ///< the caller's total run delay then
  double serial_delay_rate_ = 0;         ///< run delay per ns of serial execution; a moving average
};

}  // namespace pxl
