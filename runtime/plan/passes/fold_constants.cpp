// Constant folding: evaluates pure nodes on constants while planning.
#include <algorithm>

#include "runtime/ops/run.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

constexpr int64_t small = 64 * 1024;  // bytes: larger results are folded only if the operands are as large

/// Evaluates a node; empty if it fails: the error must occur at run time.
std::vector<Array> results_of(const Node& node) {
  const OpContextStorage storage(*node.op);
  std::vector<Array> in(node.in.size());
  for (size_t i = 0; i < in.size(); ++i)
    if (node.in[i]) in[i] = node.in[i]->data;
  try {
    return run_op(storage.site, std::move(in));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void fold_constants(PassContext& context) {
  PointerMap<const Tensor*, const Tensor*> folded;
  const auto never_changed = [&](const Tensor* t) { return context.aliases.writes(t).empty(); };
  for (Node& node : context.nodes) {
    for (const Tensor*& t : node.in) {
      const auto found = folded.find(t);
      if (found != folded.end()) t = found->second;
    }
    if (!is_pure(node)) continue;
    int64_t given = 0, made = 0;
    bool constant = true;
    for (const Tensor* t : node.in) {
      if (!t) continue;
      constant = constant && t->kind == TensorKind::constant && t->data.has_elements() && never_changed(t);
      given += t->spec.bytes();
    }
    for (const Tensor* t : node.out) {
      constant = constant && !context.wanted_outside(t) && never_changed(t);
      made += t->spec.bytes();
    }
    if (!constant || made > std::max(small, given)) continue;
    std::vector<Array> results = results_of(node);
    if (results.empty()) continue;
    for (size_t j = 0; j < results.size(); ++j) {
      Tensor t = *node.out[j];
      t.kind = TensorKind::constant;
      t.producer = nullptr;
      t.consumers.clear();
      t.data = std::move(results[j]);
      context.constants.push_back(std::move(t));
      folded[node.out[j]] = &context.constants.back();
    }
    node.op = nullptr;
  }
}

}  // namespace pxl
