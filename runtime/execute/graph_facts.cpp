#include "runtime/execute/graph_facts.hpp"

#include <algorithm>
#include <unordered_set>

#include "runtime/graph/call_operands.hpp"
#include "runtime/graph/schedule.hpp"
#include "runtime/plan/plan.hpp"

namespace pxl {

namespace {

constexpr int64_t many = int64_t{1} << 60;  // transfers beyond which they are not counted
int64_t multiplied(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? many : std::min(product, many);
}

/// Tensors that share memory are a set of which one is the name.
class MemoryNames {
 public:
  explicit MemoryNames(const std::vector<Op*>& ops) {
    for (const Op* op : ops) {
      for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
        if (!op->aliases(slot)) continue;
        const Tensor *shared = of(op->inputs[slot]), *name = of(op->outputs[0]);
        if (shared != name) names_[shared] = name;
      }
    }
  }
  const Tensor* of(const Tensor* t) const {
    for (auto found = names_.find(t); found != names_.end(); found = names_.find(t)) t = found->second;
    return t;
  }

 private:
  std::unordered_map<const Tensor*, const Tensor*> names_;
};

}  // namespace

void check_planned(const EngineTask& task) {
  Planner planner(PlanOptions::reference());
  if (task.result)
    planner.plan_tensor(*task.result);
  else
    planner.plan(task.ir.main());
}

const GraphFacts::Known& GraphFacts::known(const Graph& graph) {
  const auto found = known_.find(&graph);
  if (found != known_.end()) return *found->second;
  auto k = std::make_unique<Known>();
  for (const auto& t : graph.tensors())
    if (t->kind == TensorKind::variable || t->kind == TensorKind::constant) k->sources.push_back(t.get());
  const bool is_result = result_ && &graph == &main_;
  k->outputs.assign(graph.outputs().begin(), graph.outputs().end());
  if (is_result) k->outputs = {result_};
  k->order = needed(graph, k->outputs, !result_ ? Keep::all : is_result ? Keep::results : Keep::state);
  std::unordered_set<const Tensor*> read_later(k->outputs.begin(), k->outputs.end());
  k->dying.resize(k->order.size());
  k->unread.resize(k->order.size());
  for (size_t i = k->order.size(); i-- > 0;) {
    for (const Tensor* t : k->order[i]->outputs)
      if (read_later.count(t) == 0) k->unread[i].push_back(t);
    for (const Tensor* t : k->order[i]->inputs)
      if (t && (t->producer || t->kind == TensorKind::input) && read_later.insert(t).second) k->dying[i].push_back(t);
  }
  const MemoryNames names(k->order);
  std::unordered_set<const Tensor*> changed;
  for (const Op* op : k->order) {
    for (size_t i = 0; i < op->inputs.size(); ++i)
      if (op->inputs[i] && op->modifies(i)) changed.insert(names.of(op->inputs[i]));
    StreamMap<int64_t> most;
    for (const Graph* callee : op->called) {
      const Known& inner = known(*callee);
      k->changes = k->changes || inner.changes;
      k->effects = k->effects || inner.effects;
      const int64_t n = repeat_count(*op);
      for (const auto& [stream, each] : inner.transfers) most[stream] = std::max(most[stream], multiplied(each, n));
    }
    k->effects = k->effects || op->row->side_effect || op->stream;
    branches_ = branches_ || op->row->role == Role::branch;
    if (op->stream) most[op->stream] += 1;
    for (const auto& [stream, n] : most) k->transfers[stream] = std::min(many, k->transfers[stream] + n);
  }
  k->changes = k->changes || !changed.empty();
  for (const auto& t : graph.tensors())
    if (changed.count(names.of(t.get())) > 0) k->changed.insert(t.get());
  return *known_.emplace(&graph, std::move(k)).first->second;
}

/// The ops of a run, in order: the ops that the outputs need, and the ops with effects that `keep` names.
std::vector<Op*> GraphFacts::needed(const Graph& graph, const std::vector<const Tensor*>& outputs, Keep keep) {
  const std::vector<Op*> all = schedule_order(graph);
  const MemoryNames names(all);
  const auto memory = [&](const Tensor* t) { return names.of(t); };
  std::unordered_set<const Tensor*> used, outer;
  std::unordered_set<const Stream*> streams;  // a needed load gets its sample only after the loads before it
  for (const Tensor* t : outputs) used.insert(memory(t));
  for (const auto& t : graph.tensors())
    if (t->kind == TensorKind::variable || t->kind == TensorKind::input) outer.insert(memory(t.get()));
  std::vector<Op*> kept;
  for (size_t i = all.size(); i-- > 0;) {
    Op* op = all[i];
    std::vector<const Stream*> loaded;
    if (op->stream && op->stream->to_device) loaded.push_back(op->stream);
    bool is_needed = keep == Keep::all && (op->row->side_effect || op->stream);
    for (const Graph* callee : op->called) {
      is_needed = is_needed || (keep == Keep::all && known(*callee).effects);
      for (const auto& [stream, n] : known(*callee).transfers)
        if (stream->to_device) loaded.push_back(stream);
    }
    for (const Tensor* t : op->outputs) is_needed = is_needed || used.count(memory(t)) > 0;
    for (size_t slot = 0; slot < op->inputs.size(); ++slot) {
      if (!op->inputs[slot] || !op->modifies(slot)) continue;
      const Tensor* changed = memory(op->inputs[slot]);
      is_needed = is_needed || keep == Keep::all || used.count(changed) > 0 ||
                  (keep == Keep::state && outer.count(changed) > 0);
    }
    for (const Stream* stream : loaded) is_needed = is_needed || keep == Keep::state || streams.count(stream) > 0;
    if (!is_needed) continue;
    kept.push_back(op);
    // A load overwrites its operand without reading it.
    for (const Tensor* t : op->inputs)
      if (t && op->row->role != Role::host_load) used.insert(memory(t));
    streams.insert(loaded.begin(), loaded.end());
  }
  std::reverse(kept.begin(), kept.end());
  return kept;
}

}  // namespace pxl
