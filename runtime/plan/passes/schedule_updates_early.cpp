// Moves in-place updates up to the last node that they depend on: their gradients are live for a shorter time, and the
// weights are still in cache. None is moved before a node that may fail in a run: a run that fails after a variable has
// changed must be undone, for which the variables are copied in each run.
#include <algorithm>
#include <numeric>

#include "runtime/plan/passes.hpp"

namespace pxl {

void schedule_updates_early(PassContext& context) {
  // The sort key of a node is its position; of an update, the key of the last node that it depends on. A stable sort
  // then places each update directly after that node.
  std::vector<Node>& nodes = context.nodes;
  PointerMap<const Tensor*, size_t> made, touched, written;
  std::vector<size_t> key(nodes.size());
  const std::vector<bool> failing = failing_nodes(nodes);
  size_t last_failing = 0;  // key
  for (size_t p = 0; p < nodes.size(); ++p) {
    const Node& node = nodes[p];
    size_t k = p;
    if (!node.modified.empty() && !node.effect && node.callees.empty()) {
      k = last_failing;
      const auto follow = [&](const auto& map, const Tensor* t) {
        const auto found = map.find(t);
        if (found != map.end()) k = std::max(k, found->second);
      };
      for (const Tensor* t : node.in) {
        if (!t) continue;
        follow(made, t);
        follow(written, context.aliases.root(t));
      }
      for (int slot : node.modified) follow(touched, context.aliases.root(node.in[static_cast<size_t>(slot)]));
    }
    key[p] = k;
    if (failing[p]) last_failing = std::max(last_failing, k);
    for (const Tensor* t : node.out) made[t] = k;
    for (const Tensor* t : node.in) {
      if (!t) continue;
      size_t& last = touched[context.aliases.root(t)];
      last = std::max(last, k);
    }
    for (int slot : node.modified) written[context.aliases.root(node.in[static_cast<size_t>(slot)])] = k;
  }
  if (std::ranges::is_sorted(key)) return;
  std::vector<size_t> order(nodes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key[a] < key[b]; });
  std::vector<Node> sorted;
  sorted.reserve(nodes.size());
  for (size_t p : order) sorted.push_back(std::move(nodes[p]));
  nodes = std::move(sorted);
}

}  // namespace pxl
