// Replicas in one process: their engines run in turns on this thread, each up to the next collective.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/execute/engine.hpp"

namespace pxl {

/// The engines of all replicas of a program, by number. `task` is that of one replica.
std::vector<std::unique_ptr<ExecutionEngine>> make_engines(const EngineRow& row, int replicas,
                                                           const std::function<EngineTask(int replica)>& task);

/// One run of all replicas. Each is advanced in turn, in ascending order, until all stand at the same collectives; the
/// results are computed where the operands lie, and the replicas go on. A replica's Error is passed on, with the
/// replica in its call chain. `commit(r)` is called before the first change of a variable of replica r, and says
/// whether it honours interrupts from there on. The time of collectives counts in `times`, if it is on.
void run_in_turns(std::span<ExecutionEngine* const> engines, const std::function<bool(size_t replica)>& commit,
                  Profile* times = nullptr);

}  // namespace pxl
