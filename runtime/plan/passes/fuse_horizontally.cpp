// Horizontal fusion: runs a small parameter update (a bias, typically) inside the parallel-for of the next large
// kernel, if the two are independent. Results keep their bits. Why: the update alone would wake the thread pool once
// more.
#include "runtime/plan/passes.hpp"

namespace pxl {

namespace {

// Minimum ratio of the large node's estimated time to the update's. The update then is at most a ninth of the work, so
// chunk boundaries that suit the large node alone cost little.
constexpr double min_cost_ratio = 8;

/// Whether all results are written in place.
bool is_update(const Node& n) { return n.form == Form::fused && n.out.empty() && !n.modified.empty(); }

bool is_plain(const Node& n) {
  return n.op && n.op->row->role == Role::compute && n.alias < 0 && n.output_aliases.empty() &&
         n.in_place_candidates.empty() && n.callees.empty() && !n.effect && !n.once && !may_fail(n);
}

}  // namespace

void fuse_horizontally(PassContext& context) {
  std::vector<Node>& nodes = context.nodes;
  const Target& target = context.target;
  for (size_t p = nodes.size(); p-- > 1;) {
    Node &small = nodes[p - 1], &large = nodes[p];
    if (!is_plain(small) || !is_update(small) || !is_plain(large)) continue;
    const double ns = target.ns(small);
    if (!target.is_divided(large) || (ns >= target.parallel_ns && ns * min_cost_ratio > target.ns(large))) continue;
    if (has_dependency(context.aliases, large, small)) continue;
    std::vector<Node> both;
    both.push_back(std::move(small));
    both.push_back(std::move(large));
    small = compose(Form::side_by_side, std::move(both));
    large = Node();
  }
}

}  // namespace pxl
