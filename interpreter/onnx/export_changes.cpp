// Exports ops that change memory in place: the model has a sequence of values instead.
#include <fmt/format.h>

#include <algorithm>

#include "interpreter/onnx/exporter.hpp"
#include "runtime/graph/memory_order.hpp"

namespace pxl::onnx {

void Exporter::find_changes(const pxl::Graph& graph) {
  const auto changes = [](const std::unique_ptr<Op>& op) {
    for (size_t i = 0; i < op->inputs.size(); ++i)
      if (op->inputs[i] && op->modifies(i)) return true;
    return false;
  };
  if (std::none_of(graph.ops().begin(), graph.ops().end(), changes)) return;
  std::set<size_t> changed;
  const MemoryGroups groups(graph);
  for (const auto& op : graph.ops())
    for (size_t i = 0; i < op->inputs.size(); ++i)
      if (op->inputs[i] && op->modifies(i)) changed.insert(groups.group(op->inputs[i]));
  std::map<size_t, const Tensor*> owners;
  for (const auto& t : graph.tensors())
    if (changed.contains(groups.group(t.get())) && groups.owns_memory(t.get())) owners[groups.group(t.get())] = t.get();
  for (const auto& t : graph.tensors()) {
    const auto owner = owners.find(groups.group(t.get()));
    if (owner == owners.end()) continue;
    memory_[t.get()] = owner->second;
    if (!groups.owns_memory(t.get()) && is_view(*t->producer->row)) viewed_.insert(owner->second);
  }
}

const Tensor* Exporter::memory_of(const Tensor* t) const {
  const auto found = memory_.find(t);
  return found == memory_.end() ? t : found->second;
}

void Exporter::check_change(const Tensor* t) const {
  const Tensor* owner = memory_of(t);
  if (owner->kind == TensorKind::variable)
    throw NoForm{fmt::format("it changes the variable `{}`, and a model keeps nothing between runs", owner->name)};
  if (owner->kind == TensorKind::input && owner->graph == exported_)
    throw NoForm{fmt::format("it changes the input `{}` of the graph", owner->name)};
  if (viewed_.contains(owner)) throw NoForm{fmt::format("it changes `{}`, whose memory views share", t->name)};
}

void Exporter::change(const Tensor* t, const std::string& value, Frame& frame) {
  check_change(t);
  frame[memory_of(t)] = value;
}

}  // namespace pxl::onnx
