// Prints the table of a profile.
#include "runtime/execute/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/execute/program.hpp"

namespace pxl {

namespace {

std::string rate(double amount, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds * 1e-9) : std::string("-");
}

// Assumed time, in seconds, to wake the cores for a phase and to wait for the last core. Two cores take about as long.
constexpr double meeting = 1e-6;

/// The share of a phase's iterations that the most loaded core has, out of `cores`.
double largest_part(const Phase& phase, int cores) {
  int64_t largest = 0;
  for (int share = 0; share < cores; ++share) {
    const ChunkRange range = chunk_range(phase.iterations, share, cores, phase.grain);
    largest = std::max(largest, range.end - range.begin);
  }
  return static_cast<double>(largest) / static_cast<double>(phase.iterations);
}

}  // namespace

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

std::string Profile::expected_text(const std::vector<RunStep>& steps, double rest) const {
  const auto divisible = [&](size_t i) {
    return kernels_[i].runs > 0 && !steps[i].divided && !kernels_[i].phases.empty() &&
           has_parallel_work(*steps[i].kernel);
  };
  bool any = false;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].runs > 0 && steps[i].divided) return {};
    any = any || divisible(i);
  }
  if (!any) return {};
  std::string out = fmt::format(
      "expected on more cores, {:.0f} us for each of the phases after which they meet, without limits of memory\n"
      "{:>7} {:>11} {:>9} {:>8}\n",
      meeting * 1e6, "cores", "us/run", "meetings", "times");
  double alone = 0;
  for (const int cores : {1, 2, 4, 8, 16, 32, 64}) {
    double time = rest;
    int64_t meetings = 0;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const Timing& t = kernels_[i];
      time += t.seconds;
      if (cores == 1 || !divisible(i)) continue;
      for (size_t p = 0; p < t.phases.size(); ++p) {
        const Phase& phase = steps[i].kernel->phases()[p];
        if (phase.iterations <= phase.grain) continue;
        time += t.phases[p] * (largest_part(phase, cores) - 1) + meeting * static_cast<double>(t.runs);
        meetings += t.runs;
      }
    }
    if (cores == 1) alone = time;
    const auto runs = static_cast<double>(runs_);
    out += fmt::format("{:>7} {:>11.2f} {:>9.0f} {:>8.2f}\n", cores, time / runs * 1e6,
                       static_cast<double>(meetings) / runs, alone / time);
  }
  return out;
}

std::string Profile::text(const std::string& name, const std::vector<RunStep>& steps) const {
  if (runs_ == 0) return fmt::format("profile of {}: no run\n", name);
  std::vector<size_t> order;
  double in_kernels = 0, flops = 0, bytes = 0;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].runs == 0) continue;
    order.push_back(i);
    in_kernels += kernels_[i].seconds;
    flops += static_cast<double>(steps[i].instruction->flops) * static_cast<double>(kernels_[i].runs);
    bytes += static_cast<double>(steps[i].touched) * static_cast<double>(kernels_[i].runs);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return kernels_[a].seconds > kernels_[b].seconds; });
  const double loop = std::max(seconds(last_ - first_), in_runs_), runs = static_cast<double>(runs_);
  const auto share = [&](double time) { return loop > 0 ? 100 * time / loop : 0.0; };
  std::string out =
      fmt::format("profile of {}: {} run{} in {:.3f} s\n{:>7} {:>11} {:>9} {:>8} {:>8}  {}\n", name, runs_,
                  runs_ == 1 ? "" : "s", loop, "share", "us/run", "runs", "GF/s", "GB/s", "kernel");
  for (size_t i : order) {
    const Timing& t = kernels_[i];
    const Instruction& instruction = *steps[i].instruction;
    const double once = t.seconds / static_cast<double>(t.runs);
    out += fmt::format(
        "{:6.1f}% {:11.2f} {:9} {:>8} {:>8}  {}{}\n", share(t.seconds), once * 1e6, t.runs,
        rate(static_cast<double>(instruction.flops), once), rate(static_cast<double>(steps[i].touched), once),
        instruction.note.empty() ? fmt::format("{}", instruction.op->row->name) : instruction.note.substr(1),
        steps[i].divided ? "" : " (one thread)");
  }
  out += fmt::format("{:6.1f}% {:11.2f} {:9} {:>8} {:>8}  total of {} kernel{}\n", share(in_kernels),
                     in_kernels / runs * 1e6, runs_, rate(flops, in_kernels), rate(bytes, in_kernels), order.size(),
                     order.size() == 1 ? "" : "s");
  const auto rest = [&](double time, const char* what) {
    time = std::max(time, 0.0);
    out += fmt::format("{:6.1f}% {:11.2f} {:9} {:>8} {:>8}  {}\n", share(time), time / runs * 1e6, runs_, "", "", what);
  };
  rest(in_runs_ - in_kernels, "in session.run, outside kernels");
  rest(loop - in_runs_, "outside session.run");
  rest(loop, "total");
  return out + expected_text(steps, std::max(loop - in_kernels, 0.0));
}

}  // namespace pxl
