// When a pool divides its jobs and when it works serially, on machines that are made up.
#include "runtime/base/threads/division_policy.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

using namespace pxl;

namespace {

constexpr double ms = 1e6;

/// Two cores, of which others take shares while a job runs.
class Machine final : public PoolReadings {
 public:
  double now() override { return now_; }
  double run_delay() override { return delay_; }
  std::optional<CoreTimes> core_times() override {
    return CoreTimes{.idle = std::llround(idle_ / 1e4), .all = std::llround(2 * now_ / 1e4), .cores = 2};
  }

  double taken_from_caller = 0;  ///< share of the time in which the caller's core is another's
  double taken_from_other = 0;   ///< of the other thread's core

  /// Runs a job that needs `work` ns of one core, expected to need `expected`. Returns whether it was divided.
  bool run(DivisionPolicy& policy, double work, double expected, int stands_for = 1) {
    const double start = now_;
    if (policy.works_serially(expected)) {
      // The scheduler moves the caller to the other core while that is idle.
      const double share = taken_from_other > 0 ? taken_from_caller : 0;
      pass(work / (1 - share), share, false);
      return false;
    }
    pass(work / 2 / (1 - taken_from_caller), taken_from_caller, true);
    DividedJob job;
    job.own = stands_for > 0 ? work / 2 : 0;
    job.stands_for = stands_for;
    job.done_at = now_;
    job.done_by_others = 1;
    job.waited = std::max(0.0, start + work / 2 / (1 - taken_from_other) - now_);
    pass(job.waited, 0, true);
    policy.add(job);
    return true;
  }
  /// Short jobs that wait 1 ms each, until the policy works serially: threads that begin, pages that are touched first.
  void alarm(DivisionPolicy& policy) {
    while (!policy.works_serially(100)) {
      pass(1 * ms, 0, true);
      policy.add({.stands_for = 0, .waited = 1 * ms, .done_by_others = 1});
    }
  }
  void pause(double time) { pass(time, 0, false); }

 private:
  void pass(double time, double delayed_share, bool divided) {
    now_ += time;
    delay_ += time * delayed_share;
    idle_ += time * (divided ? 0 : 1 - taken_from_other);
  }
  double now_ = 5e12, delay_ = 3 * ms, idle_ = 0;
};

int divided_of(Machine& machine, DivisionPolicy& policy, int jobs, double work) {
  int divided = 0;
  for (int job = 0; job < jobs; ++job) divided += machine.run(policy, work, work);
  return divided;
}

}  // namespace

TEST_CASE("every job is divided on an idle machine") {
  for (const double work : {0.3 * ms, 1 * ms, 86 * ms}) {
    Machine machine;
    machine.taken_from_caller = 0.05, machine.taken_from_other = 0.1;  // what any system does beside
    DivisionPolicy policy(2, machine);
    CHECK(divided_of(machine, policy, 1000, work) == 1000);
  }
}

TEST_CASE("a false alarm costs one long job, whatever ran before it") {
  for (const int short_jobs : {0, 1, 100, 10'000}) {
    CAPTURE(short_jobs);
    Machine machine;
    DivisionPolicy policy(2, machine);
    machine.alarm(policy);
    // The clock is read for few short jobs, but the next long job reads it.
    for (int job = 0; job < short_jobs; ++job) machine.run(policy, 50, 50);
    CHECK(divided_of(machine, policy, 20, 86 * ms) >= 19);
  }
}

TEST_CASE("alarms that are far between do not add up") {
  Machine machine;
  DivisionPolicy policy(2, machine);
  for (int alarm = 0; alarm < 20; ++alarm) {
    machine.alarm(policy);
    CHECK(divided_of(machine, policy, 40, 5 * ms) >= 35);
  }
}

TEST_CASE(
    "beside others on both cores the caller works alone nearly all the time, and divides again when they have gone") {
  for (const double work : {0.3 * ms, 2 * ms, 20 * ms}) {
    CAPTURE(work);
    Machine machine;
    DivisionPolicy policy(2, machine);
    divided_of(machine, policy, 100, work);
    machine.taken_from_caller = 0.5, machine.taken_from_other = 0.9;
    const int jobs = static_cast<int>(20'000 * ms / work);
    divided_of(machine, policy, jobs / 10, work);
    CHECK(divided_of(machine, policy, jobs, work) < jobs / 10);
    // The longest period ends after 2 s.
    machine.taken_from_caller = machine.taken_from_other = 0;
    const int serial_jobs = static_cast<int>(2'100 * ms / work);
    CHECK(divided_of(machine, policy, 2 * serial_jobs, work) > serial_jobs);
    CHECK(divided_of(machine, policy, 100, work) == 100);
  }
}

TEST_CASE("jobs of unknown length are looked at one by one") {
  Machine machine;
  DivisionPolicy policy(2, machine);
  machine.alarm(policy);
  CHECK_FALSE(machine.run(policy, 1 * ms, 0));
  CHECK_FALSE(machine.run(policy, 1 * ms, 0));
  CHECK(machine.run(policy, 1 * ms, 0));
}

TEST_CASE("a pause is not a delay") {
  Machine machine;
  DivisionPolicy policy(2, machine);
  divided_of(machine, policy, 10, 5 * ms);
  machine.pause(3e12);
  CHECK(divided_of(machine, policy, 100, 5 * ms) == 100);
}
