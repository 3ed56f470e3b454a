// What a collective needs of the members of a group, for those who have some of them elsewhere.
#pragma once

#include <optional>

#include "runtime/kernels/collective.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// A reduction over the members of a group, and to whom its result goes.
struct GroupReduction {
  ReplicaReduction reduction = ReplicaReduction::add;
  ReductionResult result = {};
};
/// Of a collective that reduces; null for those that move elements.
std::optional<GroupReduction> group_reduction(const OpContext& site);

/// Bytes [begin, end) of an operand.
struct ByteRange {
  int64_t begin = 0, end = 0;
};
/// What members first..last-1 of a group need of the operand of its member `from`.
ByteRange needed_bytes(const OpContext& site, int64_t from, int64_t first, int64_t last);

}  // namespace pxl
