// Groups of replicas: which replicas take part together in a collective, or hold one value of a variable.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/op/op.hpp"

namespace pxl {

/// The number of its group for each replica. Groups are numbered from 0 in the order of their first members, and have
/// one size.
using ReplicaGroups = std::vector<int64_t>;

/// All replicas in one group.
ReplicaGroups one_group(int64_t replicas);
/// Replica r is in the group of r + stride, r + 2 stride, ...: groups of `size`. Throws Error unless `replicas` is a
/// multiple of stride * size.
ReplicaGroups strided_groups(int64_t replicas, int64_t stride, int64_t size);
/// Throws Error, with the defect, unless `groups` meets the rules of ReplicaGroups for `replicas`.
void check_groups(const ReplicaGroups& groups, int64_t replicas);
bool is_grouping(const ReplicaGroups& groups, int64_t replicas);

int64_t group_count(const ReplicaGroups& groups);
int64_t group_size(const ReplicaGroups& groups);
/// The replicas of each group, ascending.
std::vector<std::vector<int64_t>> group_members(const ReplicaGroups& groups);
/// The position of each replica within its group.
std::vector<int64_t> positions_in_group(const ReplicaGroups& groups);

/// The groups of an op: its parameter of kind group.
const ReplicaGroups& replica_groups_of(const OpContext& site);

/// The spec of the operand that Exchange::replica adds: the number of the replica, and how many there are.
const TensorSpec& replica_operand();

}  // namespace pxl
