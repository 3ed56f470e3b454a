// Prints the table of a profile.
#include "runtime/execute/profile.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/execute/program.hpp"

namespace pxl {

namespace {

std::string rate(double amount, double seconds) {
  return seconds > 0 ? fmt::format("{:.1f}", amount / seconds * 1e-9) : std::string("-");
}

}  // namespace

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
  return out;
}

}  // namespace pxl
