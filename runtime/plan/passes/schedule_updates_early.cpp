// Moves in-place updates up to the last node that they depend on. Why: their gradients are live for a shorter time, and
// the weights are still in cache. An update never moves before a node that may fail in a run. A run that fails after a
// variable has changed must be undone, and each run would copy the variables for that.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

/// Moves updates of a few bytes, such as a count of steps, and their dependents after the last node that may fail, if
/// no other update and nothing large is before that. A count is often the first update of a program, and nothing waits
/// for it.
void delay_small_updates(PassContext& context) {
  constexpr int64_t max_bytes = 4096;  // of a result
  constexpr size_t max_delayed = 64;   // nodes, each of which is compared with those behind it
  std::vector<Node>& nodes = context.nodes;
  const std::vector<bool> failing = failing_nodes(nodes);
  const auto last = static_cast<size_t>(failing.rend() - std::find(failing.rbegin(), failing.rend(), true));
  std::vector<size_t> delayed;
  for (size_t p = 0; p < last; ++p) {
    const Node& node = nodes[p];
    const bool updates = std::any_of(node.modified.begin(), node.modified.end(), [&](int slot) {
      return context.aliases.root(node.in[static_cast<size_t>(slot)])->kind == TensorKind::variable;
    });
    const auto follows = [&](size_t d) { return has_dependency(context.aliases, node, nodes[d]); };
    if (!updates && std::none_of(delayed.begin(), delayed.end(), follows)) continue;
    const bool small =
        std::all_of(node.out.begin(), node.out.end(), [](const Tensor* t) { return t->spec.bytes() <= max_bytes; });
    if (failing[p] || node.effect || !node.callees.empty() || !small || delayed.size() == max_delayed) return;
    delayed.push_back(p);
  }
  if (delayed.empty()) return;
  std::vector<Node> sorted, moved;
  sorted.reserve(nodes.size());
  for (size_t p = 0; p < nodes.size(); ++p) {
    if (p == last) std::move(moved.begin(), moved.end(), std::back_inserter(sorted));
    const bool is_delayed = std::binary_search(delayed.begin(), delayed.end(), p);
    (is_delayed ? moved : sorted).push_back(std::move(nodes[p]));
  }
  if (last == nodes.size()) std::move(moved.begin(), moved.end(), std::back_inserter(sorted));
  nodes = std::move(sorted);
}

}  // namespace

void schedule_updates_early(PassContext& context) {
  delay_small_updates(context);
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
