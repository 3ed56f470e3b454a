// Transfers of host streams that need no copy, because kernels read or write the host's memory.
#pragma once

#include <map>
#include <set>

#include "runtime/plan/plan.hpp"

namespace pxl {

/// Buffers of loads whose sample kernels may read in the host's memory. Such a load is the only load of its stream per
/// run. Only kernels of the main graph read its buffer, and none modifies it.
std::set<BufferId> direct_loads(const Plan& plan);

/// Buffers of stores, with their streams, whose sample is computed in the host's memory. Such a store is the only one
/// per run that uses its stream, and the only one that uses its buffer. Only kernels of the main graph use the buffer,
/// and none changes it after the store.
std::map<BufferId, const Stream*> direct_stores(const Plan& plan);

}  // namespace pxl
