// Transfers of host streams that need no copy, because kernels read or write the host's memory.
#pragma once

#include <map>
#include <set>

#include "runtime/plan/plan.hpp"

namespace pxl {

/// Buffers of loads whose sample kernels may read in the host's memory: the only load of its stream per run, read by
/// kernels of the main graph only, and never modified.
std::set<BufferId> direct_loads(const Plan& plan);

/// Buffers of stores, with their streams, whose sample is computed in the host's memory: the only store of its stream
/// per run, and of its buffer, which only kernels of the main graph use, and none changes after the store.
std::map<BufferId, const Stream*> direct_stores(const Plan& plan);

}  // namespace pxl
