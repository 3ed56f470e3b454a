#include "runtime/transform/inline.hpp"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "runtime/graph/memory_order.hpp"
#include "runtime/transform/build_state.hpp"

namespace pxl {

namespace {

using Tensors = std::unordered_map<const Tensor*, Tensor*>;

/// The effects that calls of a graph have besides computing values.
struct Effects {
  std::vector<bool> changed;       ///< by input: whether an op modifies its memory
  std::vector<int> shows;          ///< by output: the input whose memory it shares, or -1
  bool repeats_an_output = false;  ///< two outputs share memory
};

Effects effects_of(const Graph& graph) {
  const MemoryGroups groups(graph);
  std::unordered_set<size_t> changed;
  for (const auto& op : graph.ops())
    for (size_t slot = 0; slot < op->inputs.size(); ++slot)
      if (op->inputs[slot] && op->modifies(slot)) changed.insert(groups.group(op->inputs[slot]));
  std::unordered_map<size_t, int> inputs;
  Effects effects;
  for (const Tensor* t : graph.inputs()) {
    inputs.emplace(groups.group(t), static_cast<int>(inputs.size()));
    effects.changed.push_back(changed.count(groups.group(t)) > 0);
  }
  std::unordered_set<size_t> given;
  for (const Tensor* t : graph.outputs()) {
    const auto from = inputs.find(groups.group(t));
    effects.shows.push_back(from == inputs.end() ? -1 : from->second);
    effects.repeats_an_output = !given.insert(groups.group(t)).second || effects.repeats_an_output;
  }
  return effects;
}

class Inliner {
 public:
  Inliner(const Ir& from, const std::function<bool(const Graph&)>& chosen, std::unordered_set<const Graph*> left_out)
      : rebuild_(from, std::move(left_out)), chosen_(chosen) {}

  Rewritten run() {
    const BuildStateGuard guard(*rebuild_.result.ir);
    for (const Graph* g : rebuild_.order()) graph(*g);
    return rebuild_.finish();
  }

 private:
  void graph(const Graph& g) {
    Graph& to = rebuild_.begin(g);
    note_changes(g);
    const auto ordered = memory_order(g);
    for (const auto& op : g.ops()) {
      std::vector<Op*> made;
      if (inlines(*op))
        made = body(*op, to, rebuild_.result.tensors);
      else
        made = {rebuild_.copy(*op)};
      for (Op* m : made) {
        rebuild_.constrain(*m, *op);
        // Calls are ordered by the memory that they modify; inlined ops need explicit constraints.
        if (const auto before = ordered.find(op.get()); before != ordered.end())
          for (const Op* first : before->second)
            for (Op* b : rebuild_.replaced.at(first)) add_order(*m, b);
      }
      rebuild_.replaced[op.get()] = std::move(made);
    }
    rebuild_.end(g);
  }

  const Effects& effects(const Graph& g) {
    const auto known = effects_.find(&g);
    return known != effects_.end() ? known->second : effects_.emplace(&g, effects_of(g)).first->second;
  }

  /// Records the tensors of a graph whose memory an op of the graph modifies.
  void note_changes(const Graph& g) {
    changed_.clear();
    memory_.emplace(g);
    const MemoryGroups& groups = *memory_;
    std::unordered_set<size_t> changed;
    for (const auto& op : g.ops())
      for (size_t slot = 0; slot < op->inputs.size(); ++slot)
        if (op->inputs[slot] && op->modifies(slot)) changed.insert(groups.group(op->inputs[slot]));
    for (const auto& t : g.tensors())
      if (t->kind != TensorKind::stream && changed.count(groups.group(t.get()))) changed_.insert(t.get());
  }

  bool inlines(const Op& op) {
    if (op.row->role != Role::call || !chosen_(*op.called[0])) return false;
    const Graph& callee = *op.called[0];
    const Effects& e = effects(callee);
    if (e.repeats_an_output) return false;
    std::unordered_map<size_t, int> given;  // by memory
    for (const Tensor* t : op.inputs) ++given[memory_->group(t)];
    for (size_t i = 0; i < op.inputs.size(); ++i)
      if (e.changed[i] && (!op.modifies(i) || given[memory_->group(op.inputs[i])] > 1)) return false;
    for (const int input : e.shows)
      if (input >= 0 &&
          (e.changed[static_cast<size_t>(input)] || changed_.count(op.inputs[static_cast<size_t>(input)])))
        return false;
    return std::none_of(op.outputs.begin(), op.outputs.end(), [&](const Tensor* t) {
      return changed_.count(t) > 0 && e.shows[static_cast<size_t>(t->output_index)] >= 0;
    });
  }

  /// Copies the ops of the called graph, and of graphs that it calls, in place of the call.
  std::vector<Op*> body(const Op& call, Graph& to, Tensors& outer) {
    const Graph& callee = *call.called[0];
    Tensors inner;
    for (size_t i = 0; i < callee.inputs().size(); ++i) inner.emplace(callee.inputs()[i], outer.at(call.inputs[i]));
    for (const auto& t : callee.tensors())
      if (t->kind == TensorKind::constant) inner.emplace(t.get(), to.copy_source(*t));
    std::unordered_map<const Op*, std::vector<Op*>> here;
    std::vector<Op*> all;
    for (const auto& op : callee.ops()) {
      const bool deeper = op->row->role == Role::call && nested(*op);
      std::vector<Op*> made;
      if (deeper)
        made = body(*op, to, inner);
      else
        made = {rebuild_.copy(*op, to, inner)};
      for (Op* m : made)
        for (const Op* before : op->after)
          for (Op* b : here.at(before)) add_order(*m, b);
      all.insert(all.end(), made.begin(), made.end());
      here.emplace(op.get(), std::move(made));
    }
    for (size_t j = 0; j < call.outputs.size(); ++j) outer[call.outputs[j]] = inner.at(callee.outputs()[j]);
    return all;
  }

  /// Only plain calls in a body are inlined further; other ops keep their order.
  bool nested(const Op& op) {
    if (!chosen_(*op.called[0])) return false;
    const Effects& e = effects(*op.called[0]);
    return !e.repeats_an_output && std::none_of(e.changed.begin(), e.changed.end(), [](bool c) { return c; }) &&
           std::all_of(e.shows.begin(), e.shows.end(), [](int input) { return input < 0; });
  }

  /// The earlier ops that access the same memory as an op, if one of the two is a call.
  static std::unordered_map<const Op*, std::vector<const Op*>> memory_order(const Graph& g) {
    std::unordered_map<const Op*, std::vector<const Op*>> before;
    for (const MemoryPair& p : memory_pairs(ops_of(g), MemoryGroups(g), true)) {
      const Op* first = g.ops()[p.first].get();
      const Op* second = g.ops()[p.second].get();
      if (first->row->role == Role::call || second->row->role == Role::call) before[second].push_back(first);
    }
    return before;
  }

  Rebuild rebuild_;
  const std::function<bool(const Graph&)>& chosen_;
  std::unordered_map<const Graph*, Effects> effects_;
  std::optional<MemoryGroups> memory_;  ///< of the current graph
  std::unordered_set<const Tensor*> changed_;
};

}  // namespace

Rewritten inline_calls(const Ir& ir, const std::function<bool(const Graph&)>& chosen) {
  const Rewritten all = Inliner(ir, chosen, {}).run();
  // Graphs whose callers have all been inlined or are such graphs themselves.
  std::unordered_set<const Graph*> left_out, gone;
  for (bool more = true; more;) {
    more = false;
    for (const auto& g : ir.graphs()) {
      const Graph* made = all.graphs.at(g.get());
      const bool called = std::any_of(made->call_sites().begin(), made->call_sites().end(),
                                      [&](const Op* site) { return gone.count(site->graph) == 0; });
      if (g->call_sites().empty() || called || !left_out.insert(g.get()).second) continue;
      gone.insert(made);
      more = true;
    }
  }
  return Inliner(ir, chosen, std::move(left_out)).run();
}

}  // namespace pxl
