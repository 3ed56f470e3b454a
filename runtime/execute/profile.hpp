// Profile of a session: time in kernels, in the rest of its runs, and in the caller between runs.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

struct RunStep;

class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts timing; `steps`: how many steps the program has.
  void start(size_t steps) { kernels_.assign(steps, {}); }
  bool on() const { return !kernels_.empty(); }

  void add_kernel(size_t step, Clock::duration time) {
    kernels_[step].seconds += seconds(time);
    ++kernels_[step].runs;
  }

  /// Runs a kernel on this thread and times its phases.
  void run_phases(size_t step, const Kernel& kernel, const Buffers& buffers);

  /// Times one run of the session, from construction to destruction, including failed runs. No-op if profiling is off.
  class Run {
   public:
    explicit Run(Profile& profile) : profile_(profile) {
      if (profile_.on()) begin_ = Clock::now();
    }
    ~Run() {
      if (profile_.on()) profile_.add_run(begin_, Clock::now());
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Profile& profile_;
    Clock::time_point begin_;
  };

  /// Prints a table with a row per kernel, most expensive first. The columns are the share of the loop (from the start
  /// of the first run to the end of the last), microseconds per run of the kernel, the number of runs, the GF/s and
  /// GB/s achieved, and the fused ops. Then totals for all kernels, for sessions outside kernels (checks of inputs,
  /// streams, copies) and for the caller between runs, per run of the session. After runs on one thread, also prints
  /// the expected time on more cores. That time assumes the largest part of each phase, and adds the cost of all cores
  /// meeting after the phase.
  std::string text(const std::string& name, const std::vector<RunStep>& steps) const;

 private:
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
  void add_run(Clock::time_point begin, Clock::time_point end) {
    if (runs_++ == 0) first_ = begin;
    last_ = end;
    in_runs_ += seconds(end - begin);
  }

  struct Timing {
    double seconds = 0;
    int64_t runs = 0;
    std::vector<double> phases;  ///< seconds, if all runs were on one thread
  };
  /// Lines of the times that are expected on more cores; empty where nothing is known. `rest`: seconds outside kernels.
  std::string expected_text(const std::vector<RunStep>& steps, double rest) const;
  std::vector<Timing> kernels_;  ///< by step; empty if profiling is off
  int64_t runs_ = 0;
  double in_runs_ = 0;
  Clock::time_point first_, last_;
};

}  // namespace pxl
