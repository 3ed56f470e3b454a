// What engines that run op by op know of the graphs of a task before they run them.
#pragma once

#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "runtime/execute/engine.hpp"
#include "runtime/plan/node.hpp"

namespace pxl {

/// What a program may do does not depend on the engine: the planner finds changes of memory that has two names. Throws
/// its Error; the plan itself is not used.
void check_planned(const EngineTask& task);

class GraphFacts {
 public:
  explicit GraphFacts(const EngineTask& task) : main_(task.ir.main()), result_(task.result) {}

  /// What running a graph again and again needs to know of it.
  struct Known {
    std::vector<Op*> order;
    std::vector<std::vector<const Tensor*>> dying;  ///< by op: operands, made in this graph, that no later op reads
    std::vector<const Tensor*> sources;             ///< variables and constants
    bool changes = false;                           ///< some op may change memory
    bool effects = false;                           ///< some op prints, loads or stores
    std::vector<const Tensor*> outputs;
    std::map<const Stream*, int64_t> transfers;
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
