// Times of a session: its kernels, the rest of its runs, and what each thread did. Some of many runs are timed
// kernel by kernel, so that reading the clock stays cheap.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "runtime/kernels/kernel.hpp"

namespace pxl {

/// A kernel, or a thread's share of one, in the timeline.
struct TimedPart {
  int32_t step = 0, thread = 0;
  int64_t begin_ns = 0, ns = 0;  ///< since Profile::epoch()
};

class Profile {
 public:
  using Clock = std::chrono::steady_clock;

  /// Starts timing; `steps`: how many steps the program has.
  void start(size_t steps);
  bool on() const { return !kernels_.empty(); }
  /// Whether the kernels of the current run are timed.
  bool timing() const { return timing_; }

  void add_kernel(size_t step, Clock::duration time) {
    kernels_[step].seconds += seconds(time);
    ++kernels_[step].runs;
  }
  /// Adds to the timeline, as far as it has room.
  void add_part(size_t step, int thread, Clock::time_point begin, Clock::time_point end);

  /// Runs a kernel on this thread and times its phases.
  void run_phases(size_t step, const Kernel& kernel, const Buffers& buffers);

  /// Times one run of the session, from construction to destruction, including failed runs. No-op if profiling is off.
  class Run {
   public:
    explicit Run(Profile& profile) : profile_(profile) {
      if (profile_.on()) begin_ = profile_.begin_run();
    }
    ~Run() {
      if (profile_.on()) profile_.end_run(begin_);
    }
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Profile& profile_;
    Clock::time_point begin_;
  };

  struct Timing {
    double seconds = 0;
    int64_t runs = 0;
    std::vector<double> phases;  ///< seconds, if all runs were on one thread
  };
  const std::vector<Timing>& kernels() const { return kernels_; }  ///< by step, of the timed runs
  const std::vector<TimedPart>& parts() const { return parts_; }
  /// The timeline's runs: begin and length, like TimedPart.
  const std::vector<std::pair<int64_t, int64_t>>& timed_runs() const { return spans_; }
  int64_t runs() const { return runs_; }
  double in_runs() const { return in_runs_; }
  /// The time from the beginning of the first run to the end of the last one.
  double loop() const { return seconds(last_ - first_); }
  /// All runs, as a multiple of those whose kernels are timed, in time.
  double scale() const { return in_timed_ > 0 ? in_runs_ / in_timed_ : 1; }
  int64_t timed() const { return timed_; }
  int64_t resident_peak() const { return resident_peak_; }  ///< bytes of the process, at the ends of timed runs

  /// The origin of the times in timelines.
  static Clock::time_point epoch();
  /// The number of the calling thread: 0 is the first one that asks.
  static int thread_number();
  /// An interrupt is requested after this number of runs, in any session; 0: never.
  static void limit_runs(int64_t runs);
  static bool limit_reached();
  /// Bytes of the process that are in memory.
  static int64_t resident_bytes();

 private:
  static double seconds(Clock::duration time) { return std::chrono::duration<double>(time).count(); }
  Clock::time_point begin_run();
  void end_run(Clock::time_point begin);

  std::vector<Timing> kernels_;  ///< by step; empty if profiling is off
  std::vector<TimedPart> parts_;
  std::vector<std::pair<int64_t, int64_t>> spans_;
  bool timing_ = false;
  int64_t runs_ = 0, timed_ = 0, resident_peak_ = 0;
  double in_runs_ = 0, in_timed_ = 0;
  Clock::time_point first_, last_;
};

}  // namespace pxl
