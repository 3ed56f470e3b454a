// Kernels of collectives: the operands of the members of one group of replicas in, a result for each member out, both
// in ascending order of replicas. A result that is null is of a member elsewhere, and not written.
#pragma once

#include <string_view>

#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/replica_tree.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

enum class ReplicaReduction : uint8_t { add, mean, mul, min, max, and_, or_, square_add };

/// Throws Error that lists the names unless `name` is one: "add", "mean", "mul", "min", "max", "and", "or",
/// "square_add".
ReplicaReduction replica_reduction(std::string_view name);

/// How a reduction of all members is given to them.
struct ReductionResult {
  enum class To : uint8_t {
    all,     ///< each has all of it
    shards,  ///< member i has elements [i * shard, (i + 1) * shard), padded with zeros
    one,     ///< member `root` has all of it, the others zeros
  };
  To to = To::all;
  int64_t shard = 0;
  int64_t root = 0;
};

/// Combines operands of n elements in the order of combine_tree: float16 in float32, rounded once; other dtypes in
/// their own. Integers wrap around. `mean` divides the sum once. Results may be the memory of the operands if each has
/// all.
Kernel replica_reduction_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                                const ReductionResult& result);
/// A reduction in parts, where members are in several processes. The dtype in which it combines: that of partial
/// results.
DType combined_dtype(DType dtype);
/// The operands of `members` that are a node of the tree in, one element after the other combined, in combined_dtype
/// out. Of square_add the squares are summed.
Kernel replica_partial_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members);
/// in[i] is node i, of several members the result of replica_partial_kernel, of one the operand; all nodes are all
/// members, ascending. out[0] is what replica_reduction_kernel gives to all, with the same bits.
Kernel replica_join_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                           std::vector<TreeNode> nodes);
/// Each member's operand, of `bytes`, one after the other, to all; what is beyond `total` bytes is left out.
Kernel replica_gather_kernel(int64_t bytes, int64_t members, int64_t total);
/// The operand of member `root` to all.
Kernel replica_broadcast_kernel(int64_t bytes, int64_t members, int64_t root);
/// Operands are of one block for each member: block i goes to member i, which has them in the order of their senders.
Kernel replica_exchange_kernel(int64_t bytes, int64_t members);
/// in[slot + 1] is the number of this replica: out[0] has the shard of in[0] at its position in its group, padded with
/// zeros. No communication.
Kernel replica_slice_kernel(int64_t bytes, int64_t shard_bytes, std::vector<int64_t> positions);

}  // namespace pxl
