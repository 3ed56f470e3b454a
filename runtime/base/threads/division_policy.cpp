#include "runtime/base/threads/division_policy.hpp"

#include <algorithm>
#include <utility>

namespace pxl {

namespace {

// Times are in ns; none of these is measured.
// A serial period begins once losses exceed gains by `max_loss`; at most `max_gain` of earlier gains count. Periods
// double until division gains `max_surplus` between two of them. After a long one the loss may reach
// `max_loss_per_serial` times its length, because the scheduler needs some ms to place a thread that wakes up.
constexpr double max_gain = 4e6, max_loss = 2e6, max_loss_per_serial = 0.025, max_surplus = 20e6;
constexpr double min_backoff = 2e6, max_backoff = 400e6;
// A period of `max_backoff` is extended, up to `max_extensions` times, while less than `min_idle_share` of the cores
// that the pool needs are idle. Then division is tried anyway, because processes of lower priority leave their cores to
// the pool.
constexpr int max_extensions = 4;
constexpr double min_idle_share = 0.5;
// The clock is read once in this estimated time of serial execution. A job is treated as `min_expected` at least.
constexpr double check_period = 100e3, min_expected = 1e3;
// Waking the pool costs less: if it took longer, the caller was preempted, which its run delay shows.
constexpr double max_waking = 20e3;
// Bounds of the interval between two measurements of the caller's run delay, which cost a system call. Longer intervals
// include pauses that have nothing to do with the pool.
constexpr double shortest_window = 1e6, longest_window = 1e9;
// Time constant of the moving average over serial execution.
constexpr double remembered_alone = 50e6;

}  // namespace

void DivisionPolicy::add(const DividedJob& job) {
  // Chunks take about equally long: each one that another thread ran saved the time of the caller's.
  gain_ += (job.own * job.done_by_others - std::min(job.waking, max_waking)) * job.stands_for - job.waited;
  if (job.stands_for > 0) charge_delay(job.done_at);
  if (gain_ > max_gain) {
    surplus_ += gain_ - max_gain;
    gain_ = max_gain;
    if (surplus_ > max_surplus) backoff_ = 0;
  } else if (gain_ < -std::max(max_loss, max_loss_per_serial * backoff_)) {
    begin_serial_period();
  }
}

// The caller competes with the pool's threads for cores on a busy machine. Run delay beyond that of serial execution is
// a loss.
void DivisionPolicy::charge_delay(double now) {
  const double window = window_start_ ? now - *window_start_ : longest_window;
  if (window < shortest_window) return;
  const double delay = readings_.run_delay();
  if (window < longest_window) gain_ -= std::min(delay - window_delay_, window) - serial_delay_rate_ * window;
  window_start_ = now;
  window_delay_ = delay;
}

void DivisionPolicy::begin_serial_period() {
  backoff_ = std::clamp(backoff_ * 2, min_backoff, max_backoff);
  const double now = readings_.now();
  window_start_ = now;
  window_delay_ = readings_.run_delay();
  serial_until_ = now + backoff_;
  core_times_ = backoff_ == max_backoff ? readings_.core_times() : std::nullopt;
  extensions_ = 0;
  unchecked_ = 0;
  serial_ = true;
  gain_ = surplus_ = 0;
}

bool DivisionPolicy::has_serial_period_ended(double expected_ns) {
  unchecked_ += expected_ns > 0 ? std::max(expected_ns, min_expected) : check_period;
  if (unchecked_ < check_period) return false;
  unchecked_ = 0;
  const double now = readings_.now();
  if (now < serial_until_) return false;
  const double time = now - *window_start_, delay = readings_.run_delay();
  if (now < serial_until_ + backoff_) {
    const double weight = time / (time + remembered_alone);
    serial_delay_rate_ += weight * (std::min((delay - window_delay_) / time, 1.0) - serial_delay_rate_);
  }
  window_start_ = now;
  window_delay_ = delay;
  if (extensions_ < max_extensions && !has_idle_cores()) {
    ++extensions_;
    serial_until_ = now + backoff_;
    return false;
  }
  serial_ = false;
  return true;
}

/// Whether the cores of the affinity mask have been idle enough for the pool's threads. The period begins at the last
/// call or at the start of the serial period. True if that is unknown.
bool DivisionPolicy::has_idle_cores() {
  if (!core_times_) return true;
  const std::optional<CoreTimes> before = std::exchange(core_times_, readings_.core_times());
  if (!core_times_) return true;
  const double ticks = static_cast<double>(core_times_->all - before->all);
  if (ticks <= 0) return true;
  return static_cast<double>(core_times_->idle - before->idle) / ticks * core_times_->cores >=
         min_idle_share * (threads_ - 1);
}

}  // namespace pxl
