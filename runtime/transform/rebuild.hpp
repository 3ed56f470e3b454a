// Base of transforms that build a new Ir for a whole program and leave the old Ir unmodified. It copies graphs and ops,
// and keeps the correspondence between both Irs.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A transformed program. Tensors that moved to another graph are not in the map.
struct Rewritten {
  std::shared_ptr<Ir> ir;
  std::unordered_map<const Graph*, Graph*> graphs;
  std::unordered_map<const Tensor*, Tensor*> tensors;
  std::unordered_map<const Stream*, Stream*> streams;
};

/// Composes the maps of two consecutive transforms.
Rewritten then(const Rewritten& first, Rewritten second);

/// Builds the new Ir, callees first: for each graph `begin`, its ops in order, `end`. Op ids count from 100 in that
/// order; graphs keep their names.
class Rebuild {
 public:
  /// `left_out`: graphs without a counterpart in the new Ir.
  explicit Rebuild(const Ir& from, std::unordered_set<const Graph*> left_out = {});

  Rewritten result;
  /// Verifies the new Ir and returns `result`: the last step of a transform.
  Rewritten finish();
  /// The graphs of the old Ir, callees before callers.
  std::vector<const Graph*> order() const;
  Graph& begin(const Graph& graph);  ///< copies inputs, variables and constants
  void end(const Graph& graph);      ///< outputs
  /// Copies an op to `to`, with operands from `tensors`, and adds its outputs to `tensors`.
  Op* copy(const Op& op, Graph& to, std::unordered_map<const Tensor*, Tensor*>& tensors);
  Op* copy(const Op& op);
  /// Transfers the order constraints of an old op to its copy.
  void constrain(Op& made, const Op& like);
  /// Replacements of an old op: one op, or all ops of an inlined graph.
  std::unordered_map<const Op*, std::vector<Op*>> replaced;

 private:
  const Ir& from_;
  std::unordered_set<const Graph*> left_out_;
};

/// Gives the next op the origin, IPU and tile set of `op`.
void place_like(Ir& ir, const Op& op);
/// Adds the constraint that `made` runs after `before`, unless they are the same op.
void add_order(Op& made, Op* before);

}  // namespace pxl
