#include "runtime/transform/loops/repeat_graph.hpp"

#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/loops/scan.hpp"

namespace pxl {

Rewritten repeat_graph(const Ir& from, int64_t count) {
  if (count < 0)
    throw Error("repeat_graph: the count must be at least 0, got " + std::to_string(count)).as(codes::value);
  Rebuild rebuild(from);
  Ir& ir = *rebuild.result.ir;
  const BuildStateGuard guard(ir);
  ir.num_host_transfers.reset();
  for (const Graph* g : rebuild.order()) {
    if (!g->is_main()) {
      rebuild.begin(*g);
      for (const auto& op : g->ops()) rebuild.copy(*op);
      rebuild.end(*g);
      continue;
    }
    const MemoryGroups groups(*g);
    std::unordered_set<size_t> changed;
    for (const auto& op : g->ops())
      for (size_t slot = 0; slot < op->inputs.size(); ++slot)
        if (op->inputs[slot] && op->modifies(slot)) changed.insert(groups.group(op->inputs[slot]));

    Graph& body = ir.create_graph(from.name() + "_repeat_graph");
    std::unordered_map<const Tensor*, Tensor*> here;
    std::vector<Tensor*> given;
    for (const auto& t : g->tensors()) {
      if (t->kind == TensorKind::variable) {
        Tensor* variable = ir.main().copy_source(*t);
        rebuild.result.tensors.emplace(t.get(), variable);
        given.push_back(variable);
        here.emplace(t.get(), body.add_input(t->spec, t->name, changed.count(groups.group(t.get())) > 0));
      } else if (t->kind == TensorKind::constant) {
        here.emplace(t.get(), body.copy_source(*t));
      }
    }
    for (const auto& op : g->ops()) {
      Op* made = rebuild.copy(*op, body, here);
      rebuild.constrain(*made, *op);
      rebuild.replaced[op.get()] = {made};
    }
    add_loop(ir.main(), body, std::move(given), count);
  }
  return rebuild.finish();
}

}  // namespace pxl
