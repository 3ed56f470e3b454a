#include "runtime/graph/call_operands.hpp"

#include <algorithm>
#include <variant>

#include "runtime/base/diagnostic.hpp"
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

int64_t repeat_count(const Op& op) {
  if (op.row->role != Role::loop) return 1;
  for (const Attr& attr : op.attrs)
    if (const int64_t* n = std::get_if<int64_t>(&attr)) return std::max<int64_t>(*n, 0);
  throw Error("a loop without a number of repetitions", {}, Fault::internal);
}

}  // namespace pxl
