#include "runtime/execute/replicas.hpp"

#include <fmt/format.h>

#include <new>

#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/threads/subnormals.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

std::vector<std::unique_ptr<ExecutionEngine>> make_engines(const EngineRow& row, const ReplicaRange& range,
                                                           const std::function<EngineTask(int replica)>& task) {
  std::vector<std::unique_ptr<ExecutionEngine>> engines;
  engines.push_back(row.make(task(range.first)));
  for (int i = 1; i < range.count; ++i) engines.push_back(engines[0]->for_replica(task(range.first + i)));
  return engines;
}

namespace {

/// The call chain with the replica as its outermost step.
FramePtr within_replica(const FramePtr& frames, int replica, int replicas) {
  if (!frames) return std::make_shared<Frame>(Frame{fmt::format("replica {} of {}", replica, replicas), {}, nullptr});
  return std::make_shared<Frame>(Frame{frames->what, frames->at, within_replica(frames->outer, replica, replicas)});
}

/// Computes one collective of all groups, on the operands and results of the replicas in place.
void run_collective(std::span<const std::span<const CollectiveStop>> stops, size_t which) {
  const CollectiveStop& first = stops[0][which];
  const Kernel& kernel = *first.kernel;
  const WorkspaceMemory workspace(workspace_bytes(kernel));
  const FlushSubnormals flush;
  const OpContext site{*first.op->row, {}, first.op->attrs};
  for (const std::vector<int64_t>& members : group_members(replica_groups_of(site))) {
    std::vector<const std::byte*> in;
    std::vector<std::byte*> out;
    for (int64_t r : members) {
      in.push_back(stops[static_cast<size_t>(r)][which].in);
      out.push_back(stops[static_cast<size_t>(r)][which].out);
    }
    const Buffers buffers = Buffers{in.data(), out.data()}.with_workspace(workspace.data(), kernel.workspace());
    if (worth_dividing(kernel))
      run_divided(kernel, buffers);
    else
      kernel(buffers);
  }
}

/// All turns. `passed` counts the collectives that all replicas have passed.
void take_turns(const ReplicaRun& run, int64_t& passed) {
  const size_t n = run.engines.size();
  std::vector<std::function<bool()>> commits;
  for (size_t i = 0; i < n; ++i) commits.emplace_back([&run, i] { return run.commit(i); });
  for (size_t i = 0; i < n; ++i) run.engines[i]->begin(commits[i]);
  std::vector<std::span<const CollectiveStop>> stops(n);
  for (;; ++passed) {
    for (size_t i = 0; i < n; ++i) {
      const int replica = run.range.first + static_cast<int>(i);
      if (run.elsewhere) run.elsewhere->processes().output().turn(passed, replica);
      try {
        stops[i] = run.engines[i]->advance();
      } catch (Error& error) {
        error.first().frames = within_replica(error.first().frames, replica, run.range.total);
        throw;
      }
      if (stops[i].size() != stops[0].size() || (!stops[i].empty() && stops[i][0].op != stops[0][0].op))
        throw Error(fmt::format("replicas {} and {} are at different collectives", run.range.first, replica), {},
                    Fault::internal);
    }
    if (stops[0].empty()) return;
    const bool timed = run.times && run.times->timing();
    for (size_t k = 0; k < (run.elsewhere ? 1 : stops[0].size()); ++k) {
      const auto start = Profile::Clock::now();
      if (run.elsewhere)
        run.elsewhere->run(stops);
      else
        run_collective(stops, k);
      if (timed) run.times->add_kernel(stops[0][k].step, Profile::Clock::now() - start);
    }
  }
}

}  // namespace

void run_in_turns(const ReplicaRun& run) {
  int64_t passed = 0;
  if (!run.elsewhere) {
    take_turns(run, passed);
    if (run.end) run.end();
    return;
  }
  Processes& job = run.elsewhere->processes();
  const int64_t before = job.breaks();
  const auto told = [&] { return job.lost() || job.breaks() != before; };
  struct Printing {
    RunOutput& output;
    ~Printing() { output.end(); }
  } const printing{job.output()};
  printing.output.begin();
  try {
    take_turns(run, passed);
    run.end();
  } catch (const Error& error) {
    if (told()) throw;
    throw job.break_off(error, passed);
  } catch (const std::bad_alloc&) {
    if (told()) throw;
    throw job.break_off(run_error("out of memory"), passed);
  } catch (const Interrupted&) {
    if (!told()) job.break_off_interrupted();
    throw;
  }
}

}  // namespace pxl
