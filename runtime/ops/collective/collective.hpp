// The bytes that a collective needs from each group member, for callers that have some members elsewhere.
#pragma once

#include <optional>

#include "runtime/kernels/outside/collective.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// A reduction over the members of a group, and to whom its result goes.
struct GroupReduction {
  ReplicaReduction reduction = ReplicaReduction::add;
  ReductionResult result = {};
};
/// The reduction that a collective makes; null if the collective moves elements.
std::optional<GroupReduction> group_reduction(const OpContext& site);

/// Bytes [begin, end) of an operand.
struct ByteRange {
  int64_t begin = 0, end = 0;
};
/// The bytes of member `from`'s operand that members first..last-1 of its group need.
ByteRange needed_bytes(const OpContext& site, int64_t from, int64_t first, int64_t last);

}  // namespace pxl
