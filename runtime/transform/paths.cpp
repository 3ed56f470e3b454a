// Paths of gradients: floating tensors, from an op's outputs to its inputs. Paths continue through float8, so that
// tensors after it are not treated as constants: ops on float8 have no gradient and report that.
#include <algorithm>

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

TensorSet tensors_before(const Graph& graph, const std::vector<Tensor*>& provided) {
  TensorSet found(provided.begin(), provided.end());
  for (auto it = graph.ops().rbegin(); it != graph.ops().rend(); ++it) {
    const std::vector<Tensor*> results = given_by(**it);
    if (!std::any_of(results.begin(), results.end(), [&](const Tensor* t) { return carries(t) && found.count(t); }))
      continue;
    for (const Tensor* t : (*it)->inputs)
      if (carries(t)) found.insert(t);
  }
  return found;
}

TensorSet inputs_before(const Graph& graph, const std::vector<Tensor*>& provided) {
  if (provided.empty() || !is_custom_path(graph)) return tensors_before(graph, provided);
  TensorSet found;
  for (const Tensor* t : graph.inputs())
    if (carries(t)) found.insert(t);
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
