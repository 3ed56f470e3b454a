// Outlining: turns bodies into graphs and their occurrences into calls, one body per round; the search then restarts on
// the resulting program.
#include "runtime/transform/outline.hpp"

#include <algorithm>

#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/build_state.hpp"
#include "runtime/transform/outline_search.hpp"

namespace pxl {

namespace {

constexpr size_t max_rounds = 256;  // bodies; each takes a pass over the program

/// Builds the program in which each occurrence of a body is a call.
class Outliner {
 public:
  Outliner(const Ir& from, const OutlineSearch& search, const OutlinedBody& body)
      : rebuild_(from), search_(search), body_(body) {
    for (size_t start : body.starts) starts_.emplace(&search.op(start), start);
  }

  Rewritten run() {
    Ir& ir = *rebuild_.result.ir;
    const BuildStateGuard guard(ir);
    for (const Graph* g : rebuild_.order()) {
      Graph& to = rebuild_.begin(*g);
      for (size_t i = 0; i < g->ops().size(); ++i) {
        const Op& op = *g->ops()[i];
        const auto start = starts_.find(&op);
        if (start == starts_.end()) {
          rebuild_.copy(op);
          continue;
        }
        if (!made_) make_body();
        call(start->second, to);
        i += body_.length - 1;
      }
      rebuild_.end(*g);
    }
    return rebuild_.finish();
  }

 private:
  const Op& op_at(size_t start, size_t k) const { return search_.op(start + k); }

  void make_body() {
    const size_t start = body_.starts.front();
    made_ = &rebuild_.result.ir->create_graph("outlined");
    std::unordered_map<const Tensor*, Tensor*> here;
    const std::vector<const Tensor*> outside = search_.operands(start, body_.length);
    baked_ = search_.baked(body_);
    std::unordered_set<const Tensor*> changed;
    for (size_t k = 0; k < body_.length; ++k) {
      const Op& op = op_at(start, k);
      for (size_t slot = 0; slot < op.inputs.size(); ++slot)
        if (op.inputs[slot] && op.modifies(slot)) changed.insert(op.inputs[slot]);
    }
    add_aliases(changed, start);
    for (size_t i = 0; i < outside.size(); ++i) {
      const Tensor* t = outside[i];
      const std::string name = t->name.substr(t->name.rfind('/') + 1);
      here.emplace(
          t, baked_[i] ? made_->add_constant(t->data, name) : made_->add_input(t->spec, name, changed.count(t) > 0));
    }
    std::unordered_map<const Op*, Op*> ops;
    for (size_t k = 0; k < body_.length; ++k) {
      const Op& op = op_at(start, k);
      Op* copy = rebuild_.copy(op, *made_, here);
      for (const Op* before : op.after)
        if (const auto found = ops.find(before); found != ops.end()) add_order(*copy, found->second);
      ops.emplace(&op, copy);
      for (size_t j = 0; j < op.outputs.size(); ++j) {
        const bool used = std::any_of(body_.starts.begin(), body_.starts.end(), [&](size_t s) {
          return search_.leaves(op_at(s, k).outputs[j], s, body_.length);
        });
        if (!used) continue;
        made_->add_output(here.at(op.outputs[j]));
        results_.emplace_back(k, j);
      }
    }
  }

  /// An outer tensor is also modified through results that share its memory.
  void add_aliases(std::unordered_set<const Tensor*>& changed, size_t start) const {
    for (size_t k = body_.length; k-- > 0;) {
      const Op& op = op_at(start, k);
      if (op.outputs.empty() || !changed.count(op.outputs[0])) continue;
      for (size_t slot = 0; slot < op.inputs.size(); ++slot)
        if (op.aliases(slot)) changed.insert(op.inputs[slot]);
    }
  }

  void call(size_t start, Graph& to) {
    std::vector<Tensor*> inputs;
    const std::vector<const Tensor*> outside = search_.operands(start, body_.length);
    for (size_t i = 0; i < outside.size(); ++i)
      if (!baked_[i]) inputs.push_back(rebuild_.result.tensors.at(outside[i]));
    place_like(*rebuild_.result.ir, op_at(start, 0));
    Op* made = to.add_call(*made_, std::move(inputs));
    for (size_t i = 0; i < results_.size(); ++i) {
      const auto& [k, j] = results_[i];
      Tensor* result = made->outputs[i];
      const Tensor* old = op_at(start, k).outputs[j];
      if (result->name != old->name) to.rename(result, old->name);
      rebuild_.result.tensors[old] = result;
    }
    for (size_t k = 0; k < body_.length; ++k) {
      rebuild_.constrain(*made, op_at(start, k));
      rebuild_.replaced[&op_at(start, k)] = {made};
    }
  }

  Rebuild rebuild_;
  const OutlineSearch& search_;
  const OutlinedBody& body_;
  std::unordered_map<const Op*, size_t> starts_;
  Graph* made_ = nullptr;
  std::vector<bool> baked_;                         // by outer operand
  std::vector<std::pair<size_t, size_t>> results_;  // op of the body and its output
};

}  // namespace

double call_cost(size_t tensors) { return 1 + 0.2 * static_cast<double>(tensors); }

double code_cost(const Op& op) {
  if (!op.called.empty()) return call_cost(op.inputs.size() + op.outputs.size());
  switch (op.row->pattern) {
    case Pattern::product: return 10;
    case Pattern::elementwise:
    case Pattern::movement: return 1;
    default: return 3;
  }
}

double data_cost(int64_t bytes) { return static_cast<double>(bytes) / 1024; }
double copy_cost(int64_t bytes) { return static_cast<double>(bytes) / (1024 * 1024); }

namespace {

/// Implicit order to preserve: side effects, and modifications of memory relative to its accesses.
std::unordered_map<const Op*, std::vector<const Op*>> hidden_order(const Graph& graph) {
  std::unordered_map<const Op*, std::vector<const Op*>> before;
  const auto keep = [&](size_t first, size_t second) {
    before[graph.ops()[second].get()].push_back(graph.ops()[first].get());
  };
  for (const MemoryPair& p : memory_pairs(ops_of(graph), MemoryGroups(graph), true)) keep(p.first, p.second);
  for (const auto& [first, second] : effect_pairs(ops_of(graph))) keep(first, second);
  return before;
}

/// Topological order by use: the producers of an op come right before it, whatever the creation order.
std::vector<const Op*> by_use(const Graph& graph) {
  std::vector<const Op*> order;
  std::unordered_set<const Op*> seen;
  auto hidden = hidden_order(graph);
  struct Open {
    const Op* op;
    std::vector<const Op*> before;  // in reverse order
  };
  std::vector<Open> open;
  const auto enter = [&](const Op* op) {
    if (!seen.insert(op).second) return;
    std::vector<const Op*> before = std::move(hidden[op]);
    before.insert(before.end(), op->after.begin(), op->after.end());
    for (const Tensor* t : op->inputs)
      if (t && t->producer) before.push_back(t->producer);
    std::reverse(before.begin(), before.end());
    open.push_back({op, std::move(before)});
  };
  for (const bool sinks : {true, false})
    for (const auto& root : graph.ops()) {
      const bool used = std::any_of(root->outputs.begin(), root->outputs.end(),
                                    [](const Tensor* t) { return !t->consumers.empty(); });
      if (sinks && used) continue;
      enter(root.get());
      while (!open.empty()) {
        if (open.back().before.empty()) {
          order.push_back(open.back().op);
          open.pop_back();
          continue;
        }
        const Op* next = open.back().before.back();
        open.back().before.pop_back();
        enter(next);
      }
    }
  return order;
}

struct Outlined {
  Rewritten program;
  double saved = 0;
};

Outlined outlined(const Ir& ir, double threshold, bool in_order_of_use) {
  Outlined result;
  {
    const EqualGraphs equal = find_equal_graphs(Rebuild(ir).order());
    std::unordered_set<const Graph*> left_out;
    for (const auto& [g, one] : equal) left_out.insert(g);
    Rebuild plain(ir, std::move(left_out));
    for (const auto& [g, one] : equal) plain.result.graphs.emplace(g, plain.result.graphs.at(one));
    const BuildStateGuard guard(*plain.result.ir);
    for (const Graph* g : plain.order()) {
      plain.begin(*g);
      if (in_order_of_use)
        for (const Op* op : by_use(*g)) plain.copy(*op);
      else
        for (const auto& op : g->ops()) plain.copy(*op);
      plain.end(*g);
    }
    result.program = std::move(plain.result);
  }
  for (size_t round = 0; round < max_rounds; ++round) {
    OutlineSearch search(*result.program.ir);
    const OutlinedBody body = search.best(threshold);
    if (body.starts.empty()) break;
    result.saved += body.saved;
    Rewritten next = Outliner(*result.program.ir, search, body).run();
    result.program = then(result.program, std::move(next));
  }
  return result;
}

}  // namespace

Rewritten outline(const Ir& ir, double threshold) {
  Outlined as_made = outlined(ir, threshold, false), as_used = outlined(ir, threshold, true);
  return std::move(as_used.saved > as_made.saved ? as_used.program : as_made.program);
}

}  // namespace pxl
