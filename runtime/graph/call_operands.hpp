// Operands of ops that call graphs: calls, loops and branches.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pxl {

struct Op;

/// The first operand slot of called graph `which`. Conditions precede the operands; an else branch's operands follow
/// the then branch's.
size_t callee_operand_begin(const Op& op, size_t which);
/// Whether the callee works on the caller's memory of this input: it is by reference or marked as modified.
bool is_by_reference(const Op& op, size_t which, size_t input);
/// Iterations of a loop op; 1 for other ops.
int64_t repeat_count(const Op& op);

}  // namespace pxl
