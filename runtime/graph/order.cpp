// List scheduling: a greedy topological order with low peak memory.
//
// The cost of running an op next is the bytes of memory that it allocates minus the bytes of memory whose last consumer
// it is. Only memory allocated by ops of the graph counts: variables, constants and inputs are always live. An op's
// cost changes only when it becomes the last consumer of some memory. That happens once per memory, so the queue
// processes a linear number of entries.
#include <algorithm>
#include <queue>

#include "runtime/base/pointer_map.hpp"
#include "runtime/graph/memory_order.hpp"
#include "runtime/graph/schedule.hpp"

namespace pxl {

namespace {

struct Entry {
  int64_t cost;
  size_t op;
  /// Lowest cost first, then creation order.
  bool operator<(const Entry& o) const { return cost != o.cost ? cost > o.cost : op > o.op; }
};

class Scheduler {
 public:
  /// `kept`: tensors whose memory is never freed.
  Scheduler(OpList ops, MemoryGroups groups, const std::vector<Tensor*>& kept)
      : ops_(std::move(ops)), groups_(std::move(groups)) {
    for (size_t k = 0; k < ops_.size(); ++k) index_.emplace(ops_[k], k);
    followers_.resize(ops_.size());
    waits_.assign(ops_.size(), 0);
    cost_.assign(ops_.size(), 0);
    uses_.resize(ops_.size());
    add_edges();
    add_memory(kept);
  }

  OpList run() {
    OpList order;
    order.reserve(ops_.size());
    std::vector<bool> done(ops_.size(), false);
    for (size_t k = 0; k < ops_.size(); ++k)
      if (waits_[k] == 0) queue_.push({cost_[k], k});
    while (!queue_.empty()) {
      const Entry next = queue_.top();
      queue_.pop();
      if (done[next.op] || next.cost != cost_[next.op]) continue;  // stale: replaced by a cheaper entry
      done[next.op] = true;
      order.push_back(ops_[next.op]);
      for (size_t group : uses_[next.op]) used(group, next.op);
      for (size_t follower : followers_[next.op])
        if (--waits_[follower] == 0) queue_.push({cost_[follower], follower});
    }
    if (order.size() != ops_.size())
      throw Error("the ops of graph `" + ops_[0]->graph->id() + "` wait for each other", {}, Fault::internal);
    return order;
  }

 private:
  void add_edge(size_t from, size_t to) {
    if (from == to) return;
    followers_[from].push_back(to);
    ++waits_[to];
  }

  void add_edges() {
    for (size_t k = 0; k < ops_.size(); ++k) {
      for (const Tensor* t : ops_[k]->inputs)
        if (t && t->producer) add_edge(index_.at(t->producer), k);
      for (const Op* before : ops_[k]->after) add_edge(index_.at(before), k);
    }
    for (const MemoryPair& p : memory_pairs(ops_, groups_, true)) add_edge(p.first, p.second);
    for (const auto& [first, second] : effect_pairs(ops_)) add_edge(first, second);
  }

  void add_memory(const std::vector<Tensor*>& kept) {
    bytes_.assign(groups_.count(), 0);
    users_left_.assign(groups_.count(), 0);
    users_xor_.assign(groups_.count(), 0);
    for (size_t k = 0; k < ops_.size(); ++k) {
      for (const Tensor* t : ops_[k]->outputs) {
        if (!groups_.owns_memory(t)) continue;
        bytes_[groups_.group(t)] += t->spec.bytes();
        cost_[k] += t->spec.bytes();
      }
      for (const Tensor* t : ops_[k]->inputs)
        if (t) uses_[k].push_back(groups_.group(t));
      std::sort(uses_[k].begin(), uses_[k].end());
      uses_[k].erase(std::unique(uses_[k].begin(), uses_[k].end()), uses_[k].end());
      for (size_t group : uses_[k]) {
        ++users_left_[group];
        users_xor_[group] ^= k;
      }
    }
    for (const Tensor* t : kept) {
      const size_t group = groups_.group(t);
      if (bytes_[group] > 0) users_left_[group] += 2;
    }
    for (size_t group = 0; group < groups_.count(); ++group)
      if (users_left_[group] == 1) cost_[users_xor_[group]] -= bytes_[group];
  }

  void used(size_t group, size_t op) {
    users_xor_[group] ^= op;
    if (--users_left_[group] != 1 || bytes_[group] == 0) return;
    const size_t last = users_xor_[group];
    cost_[last] -= bytes_[group];
    if (waits_[last] == 0) queue_.push({cost_[last], last});
  }

  OpList ops_;
  MemoryGroups groups_;
  PointerMap<const Op*, size_t> index_;
  std::vector<std::vector<size_t>> followers_;
  std::vector<size_t> waits_;
  std::vector<int64_t> cost_;
  std::vector<std::vector<size_t>> uses_;  // memory groups that an op uses, without duplicates
  std::vector<int64_t> bytes_;
  std::vector<size_t> users_left_,
      users_xor_;  // number of consumers that have not run, and their xor: the index of the last one
  std::priority_queue<Entry> queue_;
};

}  // namespace

OpList schedule_order(const Graph& graph) {
  check_in_effect("the schedule", graph);
  return Scheduler(ops_of(graph), MemoryGroups(graph), graph.outputs()).run();
}

OpList schedule_order(const Tensor& tensor) {
  check_in_effect("the schedule", *tensor.graph);
  OpList ops = ops_that_decide(tensor);
  MemoryGroups groups(ops);
  return Scheduler(std::move(ops), std::move(groups), {}).run();
}

}  // namespace pxl
