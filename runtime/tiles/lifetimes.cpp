// Lifetimes of a graph's tensors: liveness over the schedule, results that overwrite operands, copies of calls.
#include <algorithm>
#include <set>

#include "runtime/graph/call_operands.hpp"
#include "runtime/tiles/candidates/strategies.hpp"
#include "runtime/tiles/memory.hpp"

namespace pxl::tiles {

bool Memory::shares(const Op& op) const {
  if (!op.called.empty() || op.inputs.empty() || !op.inputs[0] || !m_.candidate(op).outputs_share) return false;
  return op.modifies(0) || m_.rearrangement_to(op.inputs[0], m_.candidate(op).in[0]).cycles == 0;
}

void Memory::find_lifetimes(int graph) {
  const GraphInstance& instance = m_.graphs()[static_cast<size_t>(graph)];
  const Graph& g = *instance.graph;
  const int end = static_cast<int>(instance.order.size()) - 1;
  std::unordered_map<const Tensor*, int> held;  // index of the lifetime whose memory the tensor uses
  std::vector<Lifetime>& out = lifetimes_[static_cast<size_t>(graph)];
  const auto begin = [&](const Tensor* t, int position) {
    held[t] = static_cast<int>(out.size());
    out.push_back({t, position, position, m_.mapping_of(t)});
  };
  const auto use = [&](const Tensor* t, int position) {
    const auto found = held.find(t);
    if (found != held.end())
      out[static_cast<size_t>(found->second)].last = std::max(out[static_cast<size_t>(found->second)].last, position);
  };
  if (!g.is_main())
    for (const Tensor* t : g.inputs())
      if (!t->by_ref) begin(t, 0);
  for (int i = 0; i <= end; ++i) {
    const Op& op = *instance.order[static_cast<size_t>(i)];
    for (const Tensor* t : op.inputs)
      if (t) use(t, i);
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const Tensor* t = op.outputs[o];
      if (o > 0 || !shares(op)) {
        begin(t, i);
        continue;
      }
      // Variables, constants and by-reference arguments have no lifetime here. Tensors that share their memory have
      // none either.
      const auto root = held.find(op.inputs[0]);
      if (root != held.end()) held[t] = root->second, use(t, i);
    }
  }
  for (const Tensor* t : g.outputs()) {
    use(t, end);
    if (const auto found = held.find(t); found != held.end()) out[static_cast<size_t>(found->second)].returned = true;
  }
  // Each iteration of a loop reads the inputs that the loop does not carry.
  if (const auto loop = carried_.find(&g); loop != carried_.end())
    for (size_t i = loop->second; i < g.inputs().size(); ++i) use(g.inputs()[i], end);
  overwrite_operands(instance, out, held);
  mark_copies(instance, out, held);
}

void Memory::overwrite_operands(const GraphInstance& instance, std::vector<Lifetime>& lifetimes,
                                const std::unordered_map<const Tensor*, int>& held) {
  for (size_t i = 0; i < instance.order.size(); ++i) {
    const Op& op = *instance.order[i];
    if (!op.called.empty() || !op.row->inplace_ok || op.row->alias >= 0 || op.inputs.empty() || !op.inputs[0] ||
        op.outputs.size() != 1)
      continue;
    const Tensor *operand = op.inputs[0], *result = op.outputs[0];
    const auto of = held.find(operand), made = held.find(result);
    if (of == held.end() || made == held.end() || of->second == made->second) continue;
    Lifetime& life = lifetimes[static_cast<size_t>(of->second)];
    if (life.last != static_cast<int>(i) || life.first == life.last || life.returned ||
        operand->spec.shape != result->spec.shape || operand->spec.dtype != result->spec.dtype ||
        life.tensor->spec.bytes() != result->spec.bytes())
      continue;
    if (!std::holds_alternative<ElementwiseStrategy>(strategy_info(op.row->tiles.strategy).work)) continue;
    const int32_t mapping = m_.mapping_of(result);
    if (m_.mapping_of(operand) != mapping || m_.candidate(op).in[0] != mapping) continue;
    bool read_again = false;  // another slot reads the operand, perhaps in another order
    for (size_t slot = 1; slot < op.inputs.size(); ++slot) {
      if (!op.inputs[slot]) continue;
      const auto other = held.find(op.inputs[slot]);
      read_again = read_again || (other != held.end() && other->second == of->second);
    }
    if (read_again) continue;
    life.last = static_cast<int>(i) - 1;
    overwriting_.insert(&op);
  }
}

void Memory::mark_copies(const GraphInstance& instance, std::vector<Lifetime>& lifetimes,
                         const std::unordered_map<const Tensor*, int>& held) const {
  for (size_t i = 0; i < instance.order.size(); ++i) {
    const Op& op = *instance.order[i];
    if (op.called.empty()) continue;
    const auto at = static_cast<int>(i);
    for (const Tensor* t : op.outputs)
      if (const auto found = held.find(t); found != held.end())
        lifetimes[static_cast<size_t>(found->second)].out_of_call = true;
    std::set<int> shared;
    for (size_t which = 0; which < op.called.size(); ++which)
      for (size_t input = 0; input < op.called[which]->inputs().size(); ++input) {
        const Tensor* t = op.inputs[callee_operand_begin(op, which) + input];
        const auto found = t ? held.find(t) : held.end();
        if (found != held.end() && is_by_reference(op, which, input)) shared.insert(found->second);
      }
    for (const Tensor* t : op.inputs) {
      const auto found = t ? held.find(t) : held.end();
      if (found == held.end() || shared.count(found->second) > 0) continue;
      Lifetime& life = lifetimes[static_cast<size_t>(found->second)];
      life.into_call = life.into_call || (life.last == at && !life.returned);
    }
  }
}

}  // namespace pxl::tiles
