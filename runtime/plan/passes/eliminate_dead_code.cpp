// Dead code elimination: one backward pass over the nodes.
#include <algorithm>
#include <unordered_set>

#include "runtime/op/definitions.hpp"
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

template <class F>
void for_each_loaded(const Node& node, F&& f) {
  if (node.op->row->role == Role::host_load) f(node.op->stream);
  for (const Plan* callee : node.callees)
    for (const auto& [stream, n] : callee->transfers)
      if (stream->to_device) f(stream);
}

void keep_live(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep, const Aliases& aliases) {
  PointerSet<const Tensor*> needed;  // roots
  for (const Tensor* t : outputs) needed.insert(aliases.root(t));
  std::unordered_set<const Stream*> streams;  // a live load needs the loads before it: they advance the stream
  const auto wanted = [&](const Node& node) {
    if (keep == Keep::all && node.effect) return true;
    bool loads = false;
    for_each_loaded(node, [&](const Stream* s) { loads = loads || keep == Keep::state || streams.count(s); });
    if (loads) return true;
    for (const Tensor* t : node.out)
      if (needed.count(aliases.root(t))) return true;
    for (int slot : node.modified) {
      const Tensor* root = aliases.root(node.in[static_cast<size_t>(slot)]);
      if (needed.count(root)) return true;
      if (keep != Keep::results && (root->kind == TensorKind::variable || root->kind == TensorKind::input)) return true;
    }
    return false;
  };
  for (size_t p = nodes.size(); p-- > 0;) {
    Node& node = nodes[p];
    if (!wanted(node)) {
      node.op = nullptr;
      continue;
    }
    for (const Tensor* t : node.in)
      if (t) needed.insert(aliases.root(t));
    for_each_loaded(node, [&](const Stream* s) { streams.insert(s); });
  }
  std::erase_if(nodes, [](const Node& node) { return !node.op; });
}

}  // namespace

void eliminate_dead_code(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep) {
  keep_live(nodes, outputs, keep, Aliases(nodes));
}

void eliminate_dead_code(PassContext& context) {
  keep_live(context.nodes, context.outputs, context.keep, context.aliases);
}

}  // namespace pxl
