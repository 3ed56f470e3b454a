// Rejects programs in which an in-place update races with another access to the same memory.
//
// Calls are not treated as updates of their by-ref inputs. PopXL considers only updates whose result aliases the input,
// and programs call two updates of one variable without ordering them. Such calls keep creation order.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/graph/memory_order.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/graph/shown_names.hpp"

namespace pxl {

namespace {

class Ancestors {
 public:
  explicit Ancestors(const OpList& ops) : ops_(ops) {
    for (size_t k = 0; k < ops.size(); ++k) index_.emplace(ops[k], k);
    seen_.assign(ops.size(), 0);
  }

  /// Marks the ops, from `oldest` on, that `op` depends on through data or constraints.
  void search(size_t op, size_t oldest) {
    ++round_;
    std::vector<size_t> open{op};
    const auto visit = [&](const Op* before) {
      const size_t k = index_.at(before);
      if (k < oldest || seen_[k] == round_) return;
      seen_[k] = round_;
      open.push_back(k);
    };
    while (!open.empty()) {
      const Op& at = *ops_[open.back()];
      open.pop_back();
      for (const Tensor* t : at.inputs)
        if (t && t->producer) visit(t->producer);
      for (const Op* before : at.after) visit(before);
    }
  }
  bool found(size_t op) const { return seen_[op] == round_; }

 private:
  const OpList& ops_;
  PointerMap<const Op*, size_t> index_;
  std::vector<size_t> seen_;
  size_t round_ = 0;
};

[[noreturn]] void refuse(const OpList& ops, const MemoryPair& pair) {
  const Op& first = *ops[pair.first];
  const Op& second = *ops[pair.second];
  const Op& update = pair.first_changes ? first : second;
  const Op& use = pair.first_changes ? second : first;
  Diagnostic d;
  d.message = fmt::format(
      "Inplacing ambiguity detected. The tensor `{}` is modified by `{}` and used by `{}`; nothing orders them: put "
      "both in in_sequence(), or make one use the other's result",
      shown_name(*pair.changed), shown_name(update), shown_name(use));
  d.span = update.origin.span;
  d.frames = update.origin.frames;
  if (use.origin.span) {
    const Position at = use.origin.span.file->position(use.origin.span.begin);
    d.notes.push_back(
        fmt::format("`{}` is at {}:{}:{}", shown_name(use), use.origin.span.file->name(), at.line, at.column));
  }
  throw Error(std::move(d)).as(codes::in_place_order);
}

bool is_used(const OpList& ops, const MemoryPair& pair, const std::vector<bool>& needed) {
  if (!pair.first_changes) return needed[pair.first];
  if (needed[pair.second]) return true;
  const Op& second = *ops[pair.second];
  for (size_t slot = 0; slot < second.inputs.size(); ++slot)
    if (second.inputs[slot] && second.modifies(slot)) return needed[pair.first];
  return false;
}

/// `needed`: ops, by index, whose accesses are checked; null means all.
void check(const OpList& ops, const MemoryGroups& groups, const std::vector<bool>* needed = nullptr) {
  std::vector<MemoryPair> pairs = memory_pairs(ops, groups, false);
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const MemoryPair& a, const MemoryPair& b) { return a.second < b.second; });
  Ancestors ancestors(ops);
  for (size_t i = 0; i < pairs.size();) {
    size_t end = i, oldest = pairs[i].first;
    for (; end < pairs.size() && pairs[end].second == pairs[i].second; ++end)
      oldest = std::min(oldest, pairs[end].first);
    ancestors.search(pairs[i].second, oldest);
    for (; i < end; ++i)
      if (!ancestors.found(pairs[i].first) && (!needed || is_used(ops, pairs[i], *needed))) refuse(ops, pairs[i]);
  }
}

}  // namespace

namespace {

void check_all(std::vector<const Graph*> open) {
  std::unordered_set<const Graph*> seen;
  while (!open.empty()) {
    const Graph* graph = open.back();
    open.pop_back();
    if (!seen.insert(graph).second) continue;
    check(ops_of(*graph), MemoryGroups(*graph));
    for (const Graph* callee : graph->called_graphs()) open.push_back(callee);
  }
}

}  // namespace

void check_inplace_order(const Ir& ir) { check_all({&ir.main()}); }

void check_inplace_order(const Tensor& tensor) {
  if (!tensor.producer) return;
  const OpList ops = ops_that_decide(tensor);
  const MemoryGroups groups(ops);
  const auto decides = [&](const Op& op) {
    if (&op == tensor.producer) return true;
    for (size_t slot = 0; slot < op.inputs.size(); ++slot)
      if (op.inputs[slot] && op.modifies(slot) && groups.group(op.inputs[slot]) == groups.group(&tensor)) return true;
    return false;
  };
  Ancestors ancestors(ops);
  std::vector<bool> needed(ops.size());
  for (size_t k = ops.size(); k-- > 0;) {
    if (needed[k] || !decides(*ops[k])) continue;
    ancestors.search(k, 0);
    for (size_t before = 0; before < k; ++before) needed[before] = needed[before] || ancestors.found(before);
    needed[k] = true;
  }
  std::vector<const Graph*> called;
  for (size_t k = 0; k < ops.size(); ++k)
    if (needed[k]) called.insert(called.end(), ops[k]->called.begin(), ops[k]->called.end());
  check(ops, groups, &needed);
  check_all(std::move(called));
}

}  // namespace pxl
