// Kernels for collectives within one replica group. In: each member's operand. Out: a result for each member. Both are
// in ascending order of replicas. A null result belongs to a member elsewhere, and is not written.
#pragma once

#include <string_view>

#include "runtime/kernels/kernel.hpp"
#include "runtime/kernels/outside/replica_tree.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

enum class ReplicaReduction : uint8_t { add, mean, mul, min, max, and_, or_, square_add };

/// Throws Error that lists the names unless `name` is one of "add", "mean", "mul", "min", "max", "and", "or",
/// "square_add".
ReplicaReduction replica_reduction(std::string_view name);

/// How members receive a reduction of all operands.
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

/// Combines operands of n elements in the order of combine_nodes. float16 is combined in float32 and rounded once;
/// other dtypes are combined in their own dtype. Integers wrap around. `mean` divides the sum once. Results may share
/// the memory of the operands if each member receives the whole result.
Kernel replica_reduction_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                                const ReductionResult& result);
/// The dtype in which a reduction combines, and of its partial results, if members are in several processes.
DType combined_dtype(DType dtype);
/// In: the operands of `members` members, which are one node of the tree. Out: their combination, element by element,
/// in combined_dtype. square_add adds squares.
Kernel replica_partial_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members);
/// in[i] is node i: the output of replica_partial_kernel for several members, the operand for one member. The nodes are
/// all members, ascending. out[0] has the bits that replica_reduction_kernel returns to all.
Kernel replica_join_kernel(DType dtype, ReplicaReduction reduction, int64_t n, int64_t members,
                           std::vector<TreeNode> nodes);
/// Concatenates the operands, `bytes` each, for every member, and leaves out what is beyond `total` bytes.
Kernel replica_gather_kernel(int64_t bytes, int64_t members, int64_t total);
/// Copies the operand of member `root` to all members.
Kernel replica_broadcast_kernel(int64_t bytes, int64_t members, int64_t root);
/// An operand has one block for each member: block i goes to member i, which stores the blocks in the order of their
/// senders.
Kernel replica_exchange_kernel(int64_t bytes, int64_t members);
/// in[slot + 1] is the replica's number. out[0] is the shard of in[0] at the replica's position in its group, padded
/// with zeros. No communication.
Kernel replica_slice_kernel(int64_t bytes, int64_t shard_bytes, std::vector<int64_t> positions);

}  // namespace pxl
