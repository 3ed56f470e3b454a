// Which nodes may fail in a run: the backward pass and updates read indices that the forward pass has checked.
#include <algorithm>

#include "runtime/ops/table.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

namespace {

/// A node that checks a tensor's elements, by its position in the order of a run.
struct KnownRange {
  int position;
  IndexCheck check;
};

class IndexChecks {
 public:
  explicit IndexChecks(const std::vector<Node>& nodes) : nodes_(nodes), aliases_(nodes) {
    for (size_t p = 0; p < nodes.size(); ++p)
      for (const Tensor* t : nodes[p].out) producer_[t] = static_cast<int>(p);
  }

  std::vector<bool> run() {
    std::vector<bool> failing;
    for (size_t p = 0; p < nodes_.size(); ++p) failing.push_back(visit(nodes_[p], static_cast<int>(p)));
    return failing;
  }

 private:
  bool visit(const Node& n, int p) {
    if (!may_fail(n)) return false;
    std::vector<IndexRead> checks = checked_by_members(n);
    if (checks.empty()) {
      const OpContextStorage storage(*n.op);
      const bool as_lowered = n.op->row->checks_indices && n.form == Form::op;
      const int slot = as_lowered ? n.op->row->checks_indices(storage.site).slot : -1;
      if (slot < 0) return true;
      checks.push_back({n.op, n.in[static_cast<size_t>(slot)]});
    }
    bool fails = false;
    for (const IndexRead& check : checks) {
      const Tensor* t = check.indices;
      const IndexCheck range = check.op->row->checks_indices(OpContextStorage(*check.op).site);
      fails = fails || !is_known(t, range, p);
      known_[aliases_.root(t)].push_back({p, range});
    }
    return fails;
  }

  /// Whether the elements of a tensor, as node p reads them, have been checked.
  bool is_known(const Tensor* t, const IndexCheck& check, int p) const {
    if (const auto found = known_.find(aliases_.root(t)); found != known_.end())
      for (const KnownRange& range : found->second)
        if (range.check.extent <= check.extent && (range.check.from_zero || !check.from_zero) &&
            !aliases_.written_between(t, range.position, p))
          return true;
    // A copy or a concatenation holds only elements of its operands.
    static const OpRow& concat = get_op("concat");
    const auto made = producer_.find(t);
    if (made == producer_.end() || !aliases_.writes(t).empty()) return false;
    const Node& n = nodes_[static_cast<size_t>(made->second)];
    if (n.form != Form::op || !(is_plain_copy(*n.op) || n.op->row == &concat)) return false;
    return std::all_of(n.in.begin(), n.in.end(), [&](const Tensor* part) {
      return part && aliases_.writes(part).empty() && is_known(part, check, p);
    });
  }

  const std::vector<Node>& nodes_;
  Aliases aliases_;
  PointerMap<const Tensor*, int> producer_;
  PointerMap<const Tensor*, std::vector<KnownRange>> known_;  ///< by root
};

}  // namespace

std::vector<bool> failing_nodes(const std::vector<Node>& nodes) { return IndexChecks(nodes).run(); }

}  // namespace pxl
