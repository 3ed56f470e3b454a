// Creation order is a topological order of data and constraints: an op is created after its inputs and after the ops
// that it must follow. The pairs found here also follow creation order, so they never contradict it.
#include "runtime/graph/memory_order.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace pxl {

namespace {

/// Effects of a graph outside its tensors: the streams that it uses; nullptr represents all other effects.
using Effects = StreamSet;

const Effects& effects_of(const Graph& graph, std::unordered_map<const Graph*, Effects>& known);

/// Calls f with each effect of an op, as its graph has it.
template <class F>
void each_effect(const Op& op, std::unordered_map<const Graph*, Effects>& known, F&& f) {
  if (op.stream)
    f(op.stream);
  else if (op.row->side_effect)
    f(nullptr);
  for (const Graph* callee : op.called)
    for (const Stream* s : effects_of(*callee, known)) f(s);
}

const Effects& effects_of(const Graph& graph, std::unordered_map<const Graph*, Effects>& known) {
  if (const auto found = known.find(&graph); found != known.end()) return found->second;
  Effects effects;
  for (const auto& op : graph.ops()) each_effect(*op, known, [&](const Stream* s) { effects.insert(s); });
  return known.emplace(&graph, std::move(effects)).first->second;
}

}  // namespace

OpList ops_of(const Graph& graph) {
  OpList ops;
  ops.reserve(graph.ops().size());
  for (const auto& op : graph.ops()) ops.push_back(op.get());
  return ops;
}

OpList ops_that_decide(const Tensor& tensor) {
  PointerSet<const Op*> needed;
  std::vector<const Op*> open;
  const auto need = [&](const Op* op) {
    if (op && needed.insert(op)) open.push_back(op);
  };
  const auto modifies_memory = [](const Op& op) {
    if (op.called.empty() && op.row->modifies == 0) return false;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.modifies(slot)) return true;
    return false;
  };
  need(tensor.producer);
  for (const auto& op : tensor.graph->ops())
    if (modifies_memory(*op)) need(op.get());
  // A load needs the loads of its stream before it: they advance the stream.
  std::unordered_map<const Graph*, Effects> known;
  StreamSet loaded;
  for (bool more = true; more;) {
    while (!open.empty()) {
      const Op& op = *open.back();
      open.pop_back();
      for (const Tensor* t : op.inputs)
        if (t) need(t->producer);
      for (const Op* before : op.after) need(before);
      each_effect(op, known, [&](const Stream* s) {
        if (s && s->to_device) loaded.insert(s);
      });
    }
    if (loaded.empty()) break;
    for (const auto& op : tensor.graph->ops())
      each_effect(*op, known, [&](const Stream* s) {
        if (s && loaded.contains(s)) need(op.get());
      });
    more = !open.empty();
  }
  OpList ops = ops_of(*tensor.graph);
  std::erase_if(ops, [&](const Op* op) { return needed.count(op) == 0; });
  return ops;
}

MemoryGroups::MemoryGroups(const Graph& graph) {
  group_.reserve(graph.tensors().size());
  std::vector<const Tensor*> given;
  for (const auto& t : graph.tensors())
    if (!t->producer) given.push_back(t.get());
  add(given, ops_of(graph));
}

void MemoryGroups::add(const std::vector<const Tensor*>& given, const OpList& ops) {
  std::vector<const Tensor*> tensors;
  std::vector<size_t> parent;  // union-find over their positions; the root is the first of a group
  const auto start = [&](const Tensor* t) {
    if (!group_.emplace(t, tensors.size()).second) return;
    parent.push_back(tensors.size());
    tensors.push_back(t);
  };
  const auto find = [&](size_t k) {
    while (parent[k] != k) k = parent[k] = parent[parent[k]];
    return k;
  };
  for (const Tensor* t : given) start(t);
  for (const Op* op : ops) {
    for (const Tensor* t : op->inputs)
      if (t) start(t);
    for (const Tensor* t : op->outputs) start(t);
    for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
      if (!op->aliases(slot)) continue;
      const size_t a = find(group_.at(op->inputs[slot])), b = find(group_.at(op->outputs[0]));
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  std::vector<size_t> number(tensors.size());
  for (size_t k = 0; k < tensors.size(); ++k) {
    number[k] = find(k) == k ? count_++ : number[find(k)];
    group_[tensors[k]] = number[k];
  }
}

bool MemoryGroups::owns_memory(const Tensor* tensor) const {
  const Op* op = tensor->producer;
  if (!op || tensor->output_index != 0) return true;
  for (size_t slot = 0; slot < op->inputs.size(); ++slot)
    if (op->aliases(slot)) return false;
  return true;
}

std::vector<MemoryPair> memory_pairs(const OpList& ops, const MemoryGroups& groups, bool calls_change) {
  struct Access {
    size_t op;
    const Tensor* tensor;
    bool changes;
  };
  constexpr size_t none = ~size_t{0};
  struct State {
    Access last_change{none, nullptr, false};
    std::vector<Access> uses;  // since the last modification
  };
  const auto changes = [&](const Op& op, size_t slot) {
    if (!calls_change && !op.called.empty()) return false;
    return op.modifies(slot);
  };
  std::vector<bool> changed(groups.count(), false);
  for (const Op* op : ops)
    for (size_t s = 0; s < op->inputs.size(); ++s)
      if (op->inputs[s] && changes(*op, s)) changed[groups.group(op->inputs[s])] = true;

  std::vector<MemoryPair> pairs;
  std::unordered_map<size_t, State> states;
  for (size_t k = 0; k < ops.size(); ++k) {
    const Op& op = *ops[k];
    std::map<size_t, Access> accesses;  // by group; an op with several accesses modifies the memory if one of them does
    for (size_t s = 0; s < op.inputs.size(); ++s) {
      const Tensor* t = op.inputs[s];
      if (!t || !changed[groups.group(t)]) continue;
      Access& a = accesses.emplace(groups.group(t), Access{k, t, false}).first->second;
      if (!a.changes && changes(op, s)) a = {k, t, true};
    }
    for (const auto& [group, access] : accesses) {
      State& state = states[group];
      if (state.last_change.op != none) pairs.push_back({state.last_change.op, k, state.last_change.tensor, true});
      if (access.changes) {
        for (const Access& use : state.uses) pairs.push_back({use.op, k, access.tensor, false});
        state.uses.clear();
        state.last_change = access;
      } else {
        state.uses.push_back(access);
      }
    }
  }
  return pairs;
}

std::vector<std::pair<size_t, size_t>> effect_pairs(const OpList& ops) {
  std::unordered_map<const Graph*, Effects> known;
  std::unordered_map<const Stream*, size_t> last;
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t k = 0; k < ops.size(); ++k) {
    const Op& op = *ops[k];
    Effects effects;
    each_effect(op, known, [&](const Stream* s) { effects.insert(s); });
    for (const Stream* s : effects) {
      const auto [at, fresh] = last.emplace(s, k);
      if (!fresh) pairs.emplace_back(at->second, k);
      at->second = k;
    }
  }
  return pairs;
}

}  // namespace pxl
