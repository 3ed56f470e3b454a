// The interface of a pass over the planner's nodes. passes.inc lists the passes, passes.hpp runs them.
#pragma once

#include <deque>
#include <memory_resource>

#include "runtime/plan/plan.hpp"

namespace pxl {

/// What a pass reads and changes: the nodes, in execution order. A pass marks a node for removal by clearing its `op`;
/// it may also reorder or replace the vector. The other fields describe the nodes as they were before the pass.
class PassContext {
 private:
  std::pmr::monotonic_buffer_resource memory_;  ///< of the maps, which are made anew for each pass

 public:
  PassContext(std::vector<Node>& nodes, const Aliases& aliases, const std::vector<const Tensor*>& outputs, Keep keep,
              std::deque<Tensor>& constants);
  PassContext(const PassContext&) = delete;
  PassContext& operator=(const PassContext&) = delete;

  std::vector<Node>& nodes;
  const Aliases& aliases;
  const std::vector<const Tensor*>& outputs;             ///< the plan's results
  Keep keep;                                             ///< what counts as live, see eliminate_dead_code
  std::deque<Tensor>& constants;                         ///< owns the tensors that passes create
  std::pmr::unordered_map<const Tensor*, int> producer;  ///< position of the node that defines a tensor
  std::pmr::unordered_map<const Tensor*, std::pmr::vector<int>> consumers;  ///< positions, once per operand slot
  std::pmr::unordered_map<const Tensor*, bool> is_output;

  bool wanted_outside(const Tensor* tensor) const { return is_output.count(tensor) > 0; }
};

using PassFn = void (*)(PassContext&);

}  // namespace pxl
