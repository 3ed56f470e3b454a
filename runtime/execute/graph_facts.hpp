// Facts about the graphs of a task, for engines that run op by op. The engine collects them before the run.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/execute/engines/engine.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

/// Plans the task for its checks alone: the planner throws Error for illegal changes of memory that has two names. The
/// rules of a program do not depend on the engine, so engines without a plan check it too.
void check_planned(const EngineTask& task);

class GraphFacts {
 public:
  explicit GraphFacts(const EngineTask& task) : main_(task.ir.main()), result_(task.result) {}

  /// Facts that repeated runs of a graph need.
  struct Known {
    std::vector<Op*> order;
    std::vector<std::vector<const Tensor*>> dying;   ///< by op: operands, made in this graph, that no later op reads
    std::vector<std::vector<const Tensor*>> unread;  ///< by op: results that nothing reads
    std::vector<const Tensor*> sources;              ///< variables and constants
    std::unordered_set<const Tensor*> changed;       ///< tensors in memory that some op may change
    bool changes = false;                            ///< some op may change memory
    bool effects = false;                            ///< some op prints, loads or stores
    std::vector<const Tensor*> outputs;
    StreamMap<int64_t> transfers;
  };
  const Known& known(const Graph& graph);
  /// Whether one of the requested graphs has a branch.
  bool branches() const { return branches_; }

 private:
  std::vector<Op*> needed(const Graph& graph, const std::vector<const Tensor*>& outputs, Keep keep);

  const Graph& main_;
  const Tensor* result_;
  std::unordered_map<const Graph*, std::unique_ptr<Known>> known_;
  bool branches_ = false;
};

}  // namespace pxl
