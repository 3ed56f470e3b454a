#include "runtime/transform/flops.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "runtime/graph/call_operands.hpp"

namespace pxl {

namespace {

constexpr int64_t max_flops = std::numeric_limits<int64_t>::max();

int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? max_flops : sum;
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? max_flops : product;
}

using Known = std::unordered_map<const Graph*, int64_t>;

int64_t of_graph(const Graph& graph, Known& known);

/// Includes called graphs.
int64_t of_op(const Op& op, Known& known) {
  switch (op.row->role) {
    case Role::call: return of_graph(*op.called[0], known);
    case Role::loop: return times(of_graph(*op.called[0], known), repeat_count(op));
    case Role::branch: return std::max(of_graph(*op.called[0], known), of_graph(*op.called[1], known));
    case Role::host_load:
    case Role::host_store:
    case Role::remote_load:
    case Role::remote_store: return 0;
    default: return flops_of(op);
  }
}

int64_t of_graph(const Graph& graph, Known& known) {
  if (const auto found = known.find(&graph); found != known.end()) return found->second;
  int64_t total = 0;
  for (const auto& op : graph.ops()) total = plus(total, of_op(*op, known));
  known.emplace(&graph, total);
  return total;
}

}  // namespace

int64_t flops_of(const Op& op) {
  const OpContextStorage storage(op);
  if (op.row->flops) return op.row->flops(storage.site);
  int64_t n = 0;
  for (const Tensor* t : op.outputs) n += t->spec.size();
  return n;
}

int64_t flops_of(const Graph& graph) {
  Known known;
  return of_graph(graph, known);
}

std::vector<std::pair<const Op*, int64_t>> flops_by_op(const Graph& graph) {
  Known known;
  std::vector<std::pair<const Op*, int64_t>> found;
  std::unordered_set<const Graph*> seen{&graph};
  std::vector<const Graph*> open{&graph};
  while (!open.empty()) {
    const Graph& at = *open.back();
    open.pop_back();
    for (const auto& op : at.ops()) {
      found.emplace_back(op.get(), of_op(*op, known));
      for (const Graph* callee : op->called)
        if (seen.insert(callee).second) open.push_back(callee);
    }
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first->id < b.first->id; });
  return found;
}

}  // namespace pxl
