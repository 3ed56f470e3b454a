// The interface of a pass over the planner's nodes. passes.inc lists the passes, passes.hpp runs them.
#pragma once

#include <deque>
#include <span>

#include "runtime/base/pointer_map.hpp"
#include "runtime/plan/plan.hpp"
#include "runtime/plan/target.hpp"
#include "runtime/plan/unchanged.hpp"

namespace pxl {

/// The input and output of a pass: the nodes, in execution order. A pass marks a node for removal by clearing its `op`;
/// it may also reorder or replace the vector. The other fields describe the nodes as they were before the pass.
class PassContext {
 public:
  PassContext(std::vector<Node>& nodes, const Aliases& aliases, const std::vector<const Tensor*>& outputs, Keep keep,
              std::deque<Tensor>& constants, const Unchanged* unchanged, const Target& target);
  PassContext(const PassContext&) = delete;
  PassContext& operator=(const PassContext&) = delete;

  std::vector<Node>& nodes;
  const Aliases& aliases;
  const std::vector<const Tensor*>& outputs;  ///< the plan's results
  Keep keep;                                  ///< what is treated as live, see eliminate_dead_code
  std::deque<Tensor>& constants;              ///< owns the tensors that passes create
  const Unchanged* unchanged;                 ///< null unless the graph is a loop's body or a main graph
  const Target& target;

  /// Position of the node that defines a tensor; -1 if there is none.
  int producer(const Tensor* tensor) const;
  /// Positions of the nodes that read a tensor, ascending, once per operand slot.
  std::span<const int> consumers(const Tensor* tensor) const;
  bool wanted_outside(const Tensor* tensor) const { return is_output_.count(tensor) > 0; }
  /// Builds the tables for `producer` and `consumers`. The first of these does so too; a pass whose first query comes
  /// after it has changed nodes calls it before.
  void index_uses() const;

 private:
  /// The position of a tensor's producer, and the tensor's range of `readers_`; `begin` is -1 if no node reads the
  /// tensor.
  struct Uses {
    int producer = -1, begin = -1, count = 0;
  };
  const Uses* uses(const Tensor* tensor) const;

  // Made when needed: several passes have no query in most programs.
  mutable bool has_uses_ = false;
  mutable PointerMap<const Tensor*, Uses> uses_;
  mutable std::vector<int> readers_;
  PointerSet<const Tensor*> is_output_;
};

using PassFn = void (*)(PassContext&);

}  // namespace pxl
