#include "runtime/graph/call_operands.hpp"

#include <algorithm>
#include <variant>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

size_t callee_operand_begin(const Op& op, size_t which) {
  if (op.row->role != Role::branch) return 0;
  return which == 0 ? 1 : 1 + op.called[0]->inputs().size();
}

bool is_by_reference(const Op& op, size_t which, size_t input) {
  const size_t slot = callee_operand_begin(op, which) + input;
  return op.called[which]->inputs()[input]->by_ref || (slot < op.input_modified.size() && op.input_modified[slot]);
}

int64_t iteration_limit(const Op& op) {
  if (op.row->role != Role::loop) return 1;
  if (const auto* n = std::get_if<int64_t>(&op.attrs.at(param_index(*op.row, "count"))))
    return std::max<int64_t>(*n, 0);
  throw Error("a loop without a number of repetitions", {}, Fault::internal);
}

int64_t repeat_count(const Op& op) {
  const int64_t most = iteration_limit(op);
  return most == no_bound ? 1 : most;
}

std::optional<size_t> loop_condition(const Op& op) {
  if (op.row->role != Role::loop) return std::nullopt;
  const auto* slot = std::get_if<int64_t>(&op.attrs.at(param_index(*op.row, "condition")));
  return slot ? std::optional(static_cast<size_t>(*slot)) : std::nullopt;
}

const Tensor* deciding_tensor(const Op& op) {
  if (op.row->role == Role::branch) return op.inputs[0];
  if (const auto slot = loop_condition(op)) return op.called[0]->inputs()[*slot];
  return nullptr;
}

}  // namespace pxl
