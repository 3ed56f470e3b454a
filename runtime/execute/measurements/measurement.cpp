// Fills in measurements: the kernels of a program with the lines and modules of their ops.
#include "runtime/execute/measurements/measurement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runtime/base/diagnostics/library_sources.hpp"
#include "runtime/base/threads/thread_pool.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/graph/op_scopes.hpp"
#include "runtime/ops/table.hpp"

namespace pxl {

namespace {

/// The modules of the op that names a step: those of the calls around it, outermost first, and its own.
std::string whole_path(const RunStep& step, ModulePaths& modules) {
  std::string path = modules.of(*step.instruction->first);
  const auto add = [&](const Op& call) {
    const std::string outer = modules.of_callee(call);
    path = outer + (outer.empty() || path.empty() ? "" : ".") + path;
  };
  const CallSite* site = step.instruction->first_site;
  for (const StepCaller* caller = step.caller;; caller = caller->outer) {
    for (; site; site = site->outer) add(*site->call);
    if (!caller) return path;
    add(*caller->control->op);
    site = caller->control->site;
  }
}

std::string place_of(Span at) { return fmt::format("{}:{}", at.file->name(), at.file->position(at.begin).line); }

/// The lines of an op: the innermost one of the program, the library's innermost one, and all.
void locate(const Op& op, MeasuredKernel& k, std::map<std::string, std::string>& sources) {
  std::vector<Span> places{op.origin.span};
  for (const Frame* f = op.origin.frames.get(); f; f = f->outer.get()) places.push_back(f->at);
  for (const Span& at : places) {
    if (!at) continue;
    std::string& place = is_library(at.file->name()) ? k.library : k.place;
    if (place.empty()) place = place_of(at);
    const std::pair<std::string, int> line{at.file->name(), at.file->position(at.begin).line};
    if (std::find(k.lines.begin(), k.lines.end(), line) != k.lines.end()) continue;
    k.lines.push_back(line);
    sources.try_emplace(line.first, at.file->text());
  }
}

/// Names and places of a step's op.
MeasuredKernel kernel_of(const RunStep& step, ModulePaths& modules, std::map<std::string, std::string>& sources) {
  MeasuredKernel k;
  const Instruction& instruction = *step.instruction;
  // The others of a chain are computed on parts of what its first op makes.
  k.name = std::string(instruction.first->row->schedule);
  if (!instruction.note.empty()) k.fused = instruction.note.substr(1);
  k.flops = instruction.flops;
  k.bytes = step.touched;
  k.divided = step.divided;
  k.id = instruction.first->id;
  k.path = whole_path(step, modules);
  if (!instruction.op->outputs.empty() && instruction.op->outputs[0]) k.result = text(instruction.op->outputs[0]->spec);
  locate(*instruction.first, k, sources);
  return k;
}

/// Bytes of the arena in use at each node, and what is there at the first peak.
void fill_memory(Measurement& m, const Plan& plan) {
  m.arena = plan.arena_bytes;
  int nodes = 0;
  for (const Buffer& b : plan.buffers) nodes = std::max(nodes, b.last + 1);
  std::vector<int64_t> change(static_cast<size_t>(nodes) + 1, 0);
  const auto in_arena = [](const Buffer& b) {
    return b.kind == Buffer::Kind::arena && b.bytes > 0 && b.last >= b.first;
  };
  for (const Buffer& b : plan.buffers) {
    if (!in_arena(b)) continue;
    change[static_cast<size_t>(std::max(b.first, 0))] += b.bytes;
    change[static_cast<size_t>(b.last) + 1] -= b.bytes;
  }
  int64_t live = 0;
  for (int i = 0; i < nodes; ++i) m.live.push_back(live += change[static_cast<size_t>(i)]);
  const auto peak = static_cast<int>(std::max_element(m.live.begin(), m.live.end()) - m.live.begin());
  for (const Buffer& b : plan.buffers)
    if (in_arena(b) && b.first <= peak && peak <= b.last)
      m.at_peak.push_back(
          {b.tensor ? b.tensor->name : "memory of a called graph", b.tensor ? text(b.tensor->spec) : "", b.bytes});
  std::stable_sort(m.at_peak.begin(), m.at_peak.end(),
                   [](const MeasuredTensor& a, const MeasuredTensor& b) { return a.bytes > b.bytes; });
  constexpr size_t shown = 64;
  if (m.at_peak.size() > shown) m.at_peak.resize(shown);
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

/// Lines of the times that are expected on more cores; empty where nothing is known. `rest`: seconds outside kernels.
std::string expected_text(std::span<const RunStep> steps, const Profile& profile, double rest) {
  const std::vector<Profile::Timing>& kernels = profile.kernels();
  const auto divisible = [&](size_t i) {
    return kernels[i].runs > 0 && !steps[i].divided && !kernels[i].phases.empty() &&
           has_parallel_work(*steps[i].kernel);
  };
  bool any = false;
  for (size_t i = 0; i < kernels.size(); ++i) {
    if (kernels[i].runs > 0 && steps[i].divided) return {};
    any = any || divisible(i);
  }
  if (!any) return {};
  std::string out = fmt::format(
      "expected on more cores, {:.0f} us for each of the phases after which they meet, without limits of memory\n"
      "{:>7} {:>11} {:>9} {:>8}\n",
      meeting * 1e6, "cores", "us/run", "meetings", "times");
  double alone = 0;
  const double scale = profile.scale();
  for (const int cores : {1, 2, 4, 8, 16, 32, 64}) {
    double time = rest, meetings = 0;
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Profile::Timing& t = kernels[i];
      time += t.seconds * scale;
      if (cores == 1 || !divisible(i)) continue;
      for (size_t p = 0; p < t.phases.size(); ++p) {
        const Phase& phase = steps[i].kernel->phases()[p];
        if (phase.iterations <= phase.grain) continue;
        const double runs = static_cast<double>(t.runs) * scale;
        time += t.phases[p] * scale * (largest_part(phase, cores) - 1) + meeting * runs;
        meetings += runs;
      }
    }
    if (cores == 1) alone = time;
    const auto runs = static_cast<double>(profile.runs());
    out += fmt::format("{:>7} {:>11.2f} {:>9.0f} {:>8.2f}\n", cores, time / runs * 1e6, meetings / runs, alone / time);
  }
  return out;
}

}  // namespace

Measurement measured(const std::string& program, std::span<const RunStep> steps, const Profile& profile,
                     const Plan& plan) {
  Measurement m;
  m.program = program;
  m.runs = profile.runs();
  m.in_runs = profile.in_runs();
  m.loop = std::max(profile.loop(), m.in_runs);
  m.timed_runs = profile.timed_runs();
  m.resident = profile.resident_peak();
  std::map<std::string, std::string> sources;
  ModulePaths modules;
  std::vector<int> number(profile.kernels().size(), -1);
  for (size_t i = 0; i < profile.kernels().size(); ++i) {
    const Profile::Timing& t = profile.kernels()[i];
    if (t.runs == 0 || !steps[i].instruction) continue;
    number[i] = static_cast<int>(m.kernels.size());
    MeasuredKernel k = kernel_of(steps[i], modules, sources);
    k.seconds = t.seconds * profile.scale();
    k.runs = (t.runs * m.runs + profile.timed() / 2) / std::max<int64_t>(profile.timed(), 1);
    m.in_kernels += k.seconds;
    m.kernels.push_back(std::move(k));
  }
  for (const TimedPart& p : profile.parts())
    if (const int k = number[static_cast<size_t>(p.step)]; k >= 0)
      m.timeline.push_back({k, p.thread, p.begin_ns, p.ns});
  m.sources.assign(sources.begin(), sources.end());
  fill_memory(m, plan);
  if (m.runs > 0) m.more = expected_text(steps, profile, std::max(m.loop - m.in_kernels, 0.0));
  return m;
}

}  // namespace pxl
