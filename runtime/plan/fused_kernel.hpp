// A group of nodes as one kernel: a product or another op that gives results by element, and elementwise ops that run
// on each block of them.
#pragma once

#include "runtime/plan/node.hpp"

namespace pxl {

/// Maximum number of operands, and of results, of one member.
inline constexpr size_t max_member_operands = 12;

/// `members` in order; the first gives elements (a product, or a kernel that says so), the others take elements of the
/// same number. `needed` says which tensors are read by others than the members. Results that only members read never
/// reach memory.
Node join(const std::vector<const Node*>& members, int64_t elements,
          const std::unordered_map<const Tensor*, bool>& needed);

}  // namespace pxl
