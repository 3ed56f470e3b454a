#include "runtime/execute/measurements/profile.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "runtime/base/files/input_file.hpp"
#include "runtime/base/limits/interrupt.hpp"

namespace pxl {

namespace {

// The first runs are timed, and one of `distance` after them. The distance is no multiple of a short cycle.
constexpr int64_t timed_first = 32, distance = 13;
constexpr size_t max_parts = 20'000;

std::atomic<int64_t> runs_left{0};
std::atomic<bool> reached{false};

}  // namespace

void Profile::start(size_t steps) {
  epoch();
  *this = Profile();
  kernels_.assign(steps, {});
  timing_ = true;
}

Profile::Clock::time_point Profile::begin_run() {
  timing_ = runs_ < timed_first || runs_ % distance == 0;
  return Clock::now();
}

void Profile::end_run(Clock::time_point begin) {
  const Clock::time_point end = Clock::now();
  if (runs_++ == 0) first_ = begin;
  last_ = end;
  in_runs_ += seconds(end - begin);
  if (runs_left > 0 && --runs_left == 0) {
    reached = true;
    request_interrupt();
  }
  if (!timing_) return;
  ++timed_;
  in_timed_ += seconds(end - begin);
  resident_peak_ = std::max(resident_peak_, resident_bytes());
  if (parts_.size() < max_parts)
    spans_.emplace_back(std::chrono::nanoseconds(begin - epoch()).count(),
                        std::chrono::nanoseconds(end - begin).count());
}

void Profile::add_part(size_t step, int thread, Clock::time_point begin, Clock::time_point end) {
  if (parts_.size() >= max_parts) return;
  parts_.push_back({static_cast<int32_t>(step), thread, std::chrono::nanoseconds(begin - epoch()).count(),
                    std::chrono::nanoseconds(end - begin).count()});
}

void Profile::run_phases(size_t step, const Kernel& kernel, const Buffers& buffers) {
  const std::vector<Phase>& phases = kernel.phases();
  if (phases.empty()) return kernel(buffers);
  std::vector<double>& times = kernels_[step].phases;
  times.resize(phases.size());
  for (size_t i = 0; i < phases.size(); ++i) {
    const Clock::time_point start = Clock::now();
    phases[i].part(buffers, 0, phases[i].iterations);
    times[i] += seconds(Clock::now() - start);
  }
}

Profile::Clock::time_point Profile::epoch() {
  static const Clock::time_point first = Clock::now();
  return first;
}

int Profile::thread_number() {
  static std::atomic<int> threads{0};
  thread_local const int number = threads++;
  return number;
}

void Profile::limit_runs(int64_t runs) {
  runs_left = runs;
  reached = false;
}
bool Profile::limit_reached() { return reached; }

int64_t Profile::resident_bytes() {
  // The second number of the file counts pages in memory.
  std::string why;
  std::optional<InputFile> file = InputFile::open("/proc/self/statm", why);
  char text[128] = {};
  long pages = 0;
  if (!file || file->read_undisturbed(text, sizeof text - 1) <= 0 || std::sscanf(text, "%*d %ld", &pages) != 1)
    return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace pxl
