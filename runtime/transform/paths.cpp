// Paths of gradients: floating tensors, from an op's outputs to its inputs. Paths continue through float8, so that
// tensors after it are not treated as constants: ops on float8 have no gradient and report that.
#include <algorithm>
#include <map>

#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/states.hpp"
#include "runtime/transform/differentiator.hpp"

namespace pxl {

namespace {

bool is_floating(const Tensor* t) { return t && pxl::is_floating(t->spec.dtype); }
bool carries(const Tensor* t) { return is_floating(t) || (t && is_float8(t->spec.dtype)); }

/// Outputs of an op, and tensors that it modifies in place in a graph with a custom gradient.
std::vector<Tensor*> given_by(const Op& op) {
  std::vector<Tensor*> results = op.outputs;
  for (size_t slot = 0; slot < op.inputs.size(); ++slot)
    if (op.inputs[slot] && op.modifies(slot)) results.push_back(op.inputs[slot]);
  return results;
}

}  // namespace

size_t index_in(const std::vector<Tensor*>& list, const Tensor* tensor) {
  return static_cast<size_t>(std::find(list.begin(), list.end(), tensor) - list.begin());
}

std::vector<Tensor*> floating_once(const std::vector<Tensor*>& tensors) {
  std::vector<Tensor*> found;
  TensorSet seen;
  for (Tensor* t : tensors)
    if (is_floating(t) && seen.insert(t).second) found.push_back(t);
  return found;
}

namespace {

/// Tensors that lead to given ones. Calls, loops and branches are looked through: an output depends on what it depends
/// on in the called graph.
class Before {
 public:
  TensorSet of(const Graph& graph, const std::vector<Tensor*>& provided) {
    TensorSet found(provided.begin(), provided.end());
    for (auto it = graph.ops().rbegin(); it != graph.ops().rend(); ++it) {
      const Op& op = **it;
      const std::vector<Tensor*> results = given_by(op);
      if (!std::any_of(results.begin(), results.end(), [&](const Tensor* t) { return carries(t) && found.count(t); }))
        continue;
      for (size_t which = 0; which < op.called.size(); ++which) add_operands(op, which, found);
      for (const Tensor* t : op.inputs)
        if (op.called.empty() && carries(t)) found.insert(t);
    }
    return found;
  }

  /// For each input of a graph, whether it leads to the provided tensors.
  const std::vector<bool>& inputs(const Graph& graph, const std::vector<Tensor*>& provided) {
    const auto [at, fresh] = known_.try_emplace({&graph, provided});
    if (!fresh) return at->second;
    std::vector<bool> leads;
    const bool all = !provided.empty() && is_custom_path(graph);
    const TensorSet found = all ? TensorSet() : of(graph, provided);
    for (const Tensor* t : graph.inputs()) leads.push_back(carries(t) && (all || found.count(t) > 0));
    return at->second = std::move(leads);
  }

 private:
  void add_operands(const Op& op, size_t which, TensorSet& found) {
    const Graph& callee = *op.called[which];
    const size_t first = callee_operand_begin(op, which);
    const bool loop = op.row->role == Role::loop;
    std::vector<bool> wanted;  // by output
    for (const Tensor* t : op.outputs) wanted.push_back(carries(t) && found.count(t) > 0);
    for (bool grows = true; grows;) {
      std::vector<Tensor*> provided;
      for (size_t i = 0; i < wanted.size(); ++i)
        if (wanted[i]) provided.push_back(callee.outputs()[i]);
      for (size_t i = 0; i < callee.inputs().size(); ++i)
        if (op.modifies(first + i) && found.count(op.inputs[first + i])) provided.push_back(callee.inputs()[i]);
      const std::vector<bool>& leads = inputs(callee, provided);
      grows = false;
      for (size_t i = 0; i < leads.size(); ++i) {
        if (!leads[i]) continue;
        if (op.inputs[first + i]) found.insert(op.inputs[first + i]);
        if (loop && i < wanted.size() && !wanted[i]) wanted[i] = grows = true;
      }
    }
  }

  std::map<std::pair<const Graph*, std::vector<Tensor*>>, std::vector<bool>> known_;
};

}  // namespace

TensorSet tensors_before(const Graph& graph, const std::vector<Tensor*>& provided) {
  return Before().of(graph, provided);
}

TensorSet inputs_before(const Graph& graph, const std::vector<Tensor*>& provided) {
  TensorSet found;
  Before before;
  if (!provided.empty() && !is_custom_path(graph)) return before.of(graph, provided);
  const std::vector<bool>& leads = before.inputs(graph, provided);
  for (size_t i = 0; i < leads.size(); ++i)
    if (leads[i]) found.insert(graph.inputs()[i]);
  return found;
}

TensorSet tensors_after(const Graph& graph, const std::vector<Tensor*>& required) {
  TensorSet found(required.begin(), required.end());
  for (const auto& op : graph.ops()) {
    const auto& inputs = op->inputs;
    if (!std::any_of(inputs.begin(), inputs.end(), [&](const Tensor* t) { return carries(t) && found.count(t); }))
      continue;
    for (const Tensor* t : given_by(*op))
      if (carries(t)) found.insert(t);
  }
  return found;
}

std::vector<Tensor*> differentiable_inputs(const Graph& graph, std::optional<std::vector<Tensor*>> grads_provided) {
  std::vector<Tensor*> provided;
  if (grads_provided)
    provided = *grads_provided;
  else
    provided.assign(graph.outputs().begin(),
                    graph.outputs().begin() + static_cast<std::ptrdiff_t>(result_outputs(graph)));
  const TensorSet before = inputs_before(graph, floating_once(provided));
  std::vector<Tensor*> found;
  for (Tensor* t : graph.inputs())
    if (is_floating(t) && before.count(t)) found.push_back(t);
  return found;
}

}  // namespace pxl
