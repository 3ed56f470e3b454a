// Replicated tensor sharding: each member of a replica group has an equal part of a tensor's elements. The part is in
// row-major order, as memory with one axis. The last parts are padded.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/op/op.hpp"
#include "runtime/op/replica_groups.hpp"

namespace pxl {

/// The spec of one part, if the members of each group share `whole`: [ceil(size / group size)]. Returns `whole` if
/// there are no groups. Throws Error if `whole` is a part already.
TensorSpec shard_spec(const TensorSpec& whole, const ReplicaGroups& groups);
/// The spec of the tensor that a shard is a part of; of others the spec itself.
TensorSpec whole_spec(const TensorSpec& spec);

/// The part of a replica within the whole tensor: first byte, and the number of bytes before the padding.
struct ShardRange {
  int64_t begin = 0, bytes = 0;
};
ShardRange shard_range(const TensorSpec& shard, int64_t position);

/// Specs of an op's outputs: inference, for shards too. Elementwise ops and rows that say `shards` take shards of one
/// group and one whole shape, together with tensors of one element; their results are shards. Collectives that say
/// `shards` infer their own. Throws Error for all other ops on shards, naming the op that gathers.
std::vector<TensorSpec> infer_specs(const OpContext& op);

/// Throws unless the members of the op's groups have the same part of operand 0, if it is a shard: collectives that
/// combine element with element.
void check_same_part(const OpContext& op);

}  // namespace pxl
