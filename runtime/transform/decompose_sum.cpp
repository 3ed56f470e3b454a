#include "runtime/transform/decompose_sum.hpp"

#include "runtime/ops/op_builder.hpp"
#include "runtime/ops/table.hpp"
#include "runtime/transform/build_state.hpp"

namespace pxl {

Rewritten decompose_sums(const Ir& ir) {
  const OpRow& sum = get_op("sum_n");
  Rebuild rebuild(ir);
  const BuildStateGuard guard(*rebuild.result.ir);
  for (const Graph* g : rebuild.order()) {
    Graph& to = rebuild.begin(*g);
    for (const auto& op : g->ops()) {
      if (op->row != &sum) {
        rebuild.copy(*op);
        continue;
      }
      const Tensor* old = op->outputs[0];
      place_like(*rebuild.result.ir, *op);
      GraphOpBuilder at(to);
      Expr total = at.one("init", {}, {{"shape", old->spec.shape}, {"dtype", old->spec.dtype}});
      std::vector<Op*>& made = rebuild.replaced[op.get()];
      made.push_back(total.tensor()->producer);
      for (const Tensor* t : op->inputs) {
        total = total + at.of(rebuild.result.tensors.at(t));
        made.push_back(total.tensor()->producer);
      }
      for (Op* m : made) rebuild.constrain(*m, *op);
      if (total.tensor()->name != old->name) to.rename(total.tensor(), old->name);
      rebuild.result.tensors[old] = total.tensor();
    }
    rebuild.end(*g);
  }
  return rebuild.finish();
}

}  // namespace pxl
