// Code that the rows of collectives share: runtime/ops/collective/collective.cpp and
// runtime/ops/collective/collective_parts.cpp.
#pragma once

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/kernels/outside/collective.hpp"
#include "runtime/op/replica_groups.hpp"
#include "runtime/ops/collective/collective.hpp"
#include "runtime/ops/row.hpp"

namespace pxl {

inline constexpr Param group_param{"group", ParamKind::group, none_default,
                                   "a replica grouping; none: all replicas, of a shard its own groups"};
inline constexpr Param reduction_param{"op", ParamKind::string, of("add"),
                                       "add, mean, mul, min, max, and, or or square_add"};
inline constexpr Param member_params[] = {{"t", ParamKind::tensor}, group_param};

inline int64_t members_of(const OpContext& s) { return group_size(replica_groups_of(s)); }
inline Attr groups_attr(GradContext& c) { return replica_groups_of(c.site()); }

/// The rows of collective_parts.cpp, which collective_rows includes.
std::span<const OpRow> collective_part_rows();

/// Whether the dtype has the reduction; throws otherwise.
ReplicaReduction replica_reduction_of(const OpContext& s);
/// Throws unless the reduction has a gradient.
void check_linear(const OpContext& s);
/// The result in parts, one for each member.
GroupReduction reduced_to_shards(const OpContext& s);
/// The kernel for one form of reduction (group_reduction).
template <GroupReduction (*form)(const OpContext&)>
Kernel reduction_kernel(const OpContext& s) {
  const GroupReduction of = form(s);
  return replica_reduction_kernel(s.input(0).dtype, of.reduction, s.input(0).size(), members_of(s), of.result);
}

}  // namespace pxl
