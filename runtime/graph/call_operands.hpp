// Operands of ops that call graphs: calls, loops and branches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

namespace pxl {

struct Op;
struct Tensor;

/// The count of a loop that its condition alone ends.
constexpr int64_t no_bound = std::numeric_limits<int64_t>::max();

/// The first operand slot of called graph `which`. Conditions precede the operands; an else branch's operands follow
/// the then branch's.
size_t callee_operand_begin(const Op& op, size_t which);
/// Whether the callee works on the caller's memory of this input: it is by reference or marked as modified.
bool is_by_reference(const Op& op, size_t which, size_t input);
/// Iterations of a loop op at most: `no_bound` where a condition alone ends it; 1 for other ops.
int64_t iteration_limit(const Op& op);
/// The iterations that a cost counts: iteration_limit(op), or one iteration if there is no bound.
int64_t repeat_count(const Op& op);
/// The carried tensor that a loop with a condition reads before each iteration. A loop that still goes on after
/// `iteration_limit` fails.
std::optional<size_t> loop_condition(const Op& op);
/// The tensor that decides what a branch or a loop runs; null for other ops. A loop's tensor is the body's input.
const Tensor* deciding_tensor(const Op& op);

}  // namespace pxl
