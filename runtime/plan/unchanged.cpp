#include "runtime/plan/unchanged.hpp"

#include <algorithm>

namespace pxl {

bool Unchanged::holds(const Tensor* tensor, const Aliases& aliases) const {
  const Tensor* root = aliases.root(tensor);
  // Remote stores change variables that are no operands of theirs.
  const bool lasts = root->kind == TensorKind::constant || inputs.count(root) > 0 ||
                     (variables && root->kind == TensorKind::variable && !root->remote);
  return lasts && aliases.writes(root).empty();
}

std::optional<Unchanged> unchanged_values(const Graph& graph, const std::vector<Node>& nodes,
                                          const std::vector<const Tensor*>& inputs,
                                          const std::vector<const Tensor*>& outputs) {
  if (graph.is_main()) return Unchanged{{}, true};
  const auto& sites = graph.call_sites();
  const auto is_loop = [](const Op* op) { return op->row->role == Role::loop; };
  if (std::ranges::none_of(sites, is_loop)) return std::nullopt;
  const Aliases aliases(nodes);
  size_t carried = 0;
  for (const Op* op : sites)
    if (is_loop(op)) carried = std::max(carried, op->outputs.size());
  const auto by_reference = [&](size_t i) {
    return std::ranges::any_of(sites, [&](const Op* op) {
      for (size_t which = 0; which < op->called.size(); ++which)
        if (op->called[which] == &graph && is_by_reference(*op, which, i)) return true;
      return false;
    });
  };
  const auto keeps_value = [&](size_t i) {
    return (i >= carried || (i < outputs.size() && aliases.root(outputs[i]) == inputs[i])) &&
           aliases.writes(inputs[i]).empty();
  };
  // Operands by reference may be one memory; the caller copies others that an iteration would change.
  bool reference_changes = false;
  for (size_t i = 0; i < inputs.size(); ++i) reference_changes |= by_reference(i) && !keeps_value(i);
  Unchanged body;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (keeps_value(i) && !(by_reference(i) && reference_changes)) body.inputs.insert(inputs[i]);
  return body;
}

}  // namespace pxl
