// The replicas of one process: their engines run in turns on this thread, each up to the next collective.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/process_collectives.hpp"

namespace pxl {

/// Makes one engine for each replica of this process, ascending. `task` returns the task for a replica, by its number.
std::vector<std::unique_ptr<ExecutionEngine>> make_engines(const EngineRow& row, const ReplicaRange& range,
                                                           const std::function<EngineTask(int replica)>& task);

/// One run of replicas.
struct ReplicaRun {
  std::span<ExecutionEngine* const> engines;  ///< of the replicas of this process
  ReplicaRange range;
  /// Called before engine i first changes a variable; says whether interrupts are honoured from there on.
  std::function<bool(size_t i)> commit;
  /// The processes with the other replicas, through which errors and interrupts end the run of all. Null where all
  /// replicas are here.
  ProcessCollectives* elsewhere = nullptr;
  std::function<void()> end = {};  ///< called when all replicas have ended; may be empty
  Profile* times = nullptr;        ///< the time of collectives counts there, if it is on
};

/// Each replica is advanced in turn, in ascending order, until all are at the same collectives; the results are
/// computed from the operands in place, and the replicas go on. A replica's Error is passed on, with the replica in its
/// call chain. If some replicas are in other processes, all processes end with the same Error, or with Interrupted.
void run_in_turns(const ReplicaRun& run);

}  // namespace pxl
