#include "runtime/execute/replicas.hpp"

#include <fmt/format.h>

#include "runtime/base/subnormals.hpp"
#include "runtime/execute/program.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

std::vector<std::unique_ptr<ExecutionEngine>> make_engines(const EngineRow& row, int replicas,
                                                           const std::function<EngineTask(int replica)>& task) {
  std::vector<std::unique_ptr<ExecutionEngine>> engines;
  engines.push_back(row.make(task(0)));
  for (int r = 1; r < replicas; ++r) engines.push_back(engines[0]->for_replica(task(r)));
  return engines;
}

namespace {

/// The call chain with the replica as its outermost step.
FramePtr within_replica(const FramePtr& frames, size_t replica, size_t replicas) {
  if (!frames) return std::make_shared<Frame>(Frame{fmt::format("replica {} of {}", replica, replicas), {}, nullptr});
  return std::make_shared<Frame>(Frame{frames->what, frames->at, within_replica(frames->outer, replica, replicas)});
}

/// Computes one collective of all groups, where the operands and results of the replicas lie.
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

}  // namespace

void run_in_turns(std::span<ExecutionEngine* const> engines, const std::function<bool(size_t replica)>& commit,
                  Profile* times) {
  const size_t n = engines.size();
  std::vector<std::function<bool()>> commits;
  for (size_t r = 0; r < n; ++r) commits.emplace_back([&commit, r] { return commit(r); });
  for (size_t r = 0; r < n; ++r) engines[r]->begin(commits[r]);
  std::vector<std::span<const CollectiveStop>> stops(n);
  while (true) {
    for (size_t r = 0; r < n; ++r) {
      try {
        stops[r] = engines[r]->advance();
      } catch (Error& error) {
        error.first().frames = within_replica(error.first().frames, r, n);
        throw;
      }
      if (stops[r].size() != stops[0].size() || (!stops[r].empty() && stops[r][0].op != stops[0][0].op))
        throw Error(fmt::format("replicas 0 and {} stand at different collectives", r), {}, Fault::internal);
    }
    if (stops[0].empty()) return;
    for (size_t k = 0; k < stops[0].size(); ++k) {
      const auto start = Profile::Clock::now();
      run_collective(stops, k);
      if (times && times->on()) times->add_kernel(stops[0][k].step, Profile::Clock::now() - start);
    }
  }
}

}  // namespace pxl
