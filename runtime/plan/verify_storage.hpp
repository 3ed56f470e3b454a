// Checks a finished plan by symbolic execution: which value each range of memory holds.
#pragma once

#include "runtime/plan/plan.hpp"

namespace pxl {

/// Throws an internal Error if
///   - an operand's memory does not hold the operand's value: it was given to another tensor, or was never written;
///   - a result shares memory with an operand although the node permits no alias, no in-place result;
///   - temporaries of calls overlap with operands, results or each other;
///   - an output's memory does not hold the output's value at the end.
/// `nodes` are the nodes from which the plan was made, in order.
void verify_storage(const Plan& plan, const std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs);

}  // namespace pxl
