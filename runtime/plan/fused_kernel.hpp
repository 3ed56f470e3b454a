// Fused kernels: a GEMM, or another op that writes its result in element order, with the elementwise ops that follow.
#pragma once

#include "runtime/plan/node.hpp"
#include "runtime/plan/register_program.hpp"

namespace pxl {

/// Maximum number of operands, and of results, of one member.
inline constexpr size_t max_member_operands = max_step_slots;

/// `members` in order: the first produces elements, the others are elementwise on operands of `elements` elements.
/// `needed` names the results that other nodes use; the other results never reach memory.
Node join(const std::vector<const Node*>& members, int64_t elements,
          const std::unordered_map<const Tensor*, bool>& needed);

}  // namespace pxl
