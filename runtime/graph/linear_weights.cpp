#include "runtime/graph/linear_weights.hpp"

#include <set>

#include "runtime/graph/call_operands.hpp"

namespace pxl {
namespace {

bool search(const Tensor& tensor, std::set<const Tensor*>& seen) {
  if (!seen.insert(&tensor).second) return false;
  for (const Op* op : tensor.consumers) {
    if (op->row->product && op->inputs.size() > 1 && op->inputs[1] == &tensor) return true;
    // Casts and fused forms hand the matrix on as it is.
    if (op->row->pattern == Pattern::elementwise && op->outputs.size() == 1 && op->inputs.size() == 1 &&
        search(*op->outputs[0], seen))
      return true;
    for (size_t which = 0; which < op->called.size(); ++which) {
      const std::vector<Tensor*>& inputs = op->called[which]->inputs();
      const size_t begin = callee_operand_begin(*op, which);
      for (size_t i = 0; i < inputs.size() && begin + i < op->inputs.size(); ++i)
        if (op->inputs[begin + i] == &tensor && search(*inputs[i], seen)) return true;
    }
  }
  return false;
}

}  // namespace

bool is_linear_weight(const Tensor& tensor) {
  std::set<const Tensor*> seen;
  return tensor.spec.shape.size() == 2 && search(tensor, seen);
}

}  // namespace pxl
