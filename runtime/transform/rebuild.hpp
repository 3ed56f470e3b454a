// Transforms of whole programs make a new Ir and leave the old one as it is. What they share: copies of graphs and
// ops, and the correspondence between both Irs.
#pragma once

#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A program made of another one. Tensors that have become part of another graph are not in the map.
struct Rewritten {
  std::shared_ptr<Ir> ir;
  std::unordered_map<const Graph*, Graph*> graphs;
  std::unordered_map<const Tensor*, Tensor*> tensors;
  std::unordered_map<const Stream*, Stream*> streams;
};

/// The maps of two transforms in a row.
Rewritten then(const Rewritten& first, Rewritten second);

/// Builds the new Ir. For each graph, those that it calls first: `begin`, its ops in order, `end`. Op ids count from
/// 100 in that order; graphs keep their names.
class Rebuild {
 public:
  /// `left_out` are graphs that the new Ir does without.
  explicit Rebuild(const Ir& from, std::unordered_set<const Graph*> left_out = {});

  Rewritten result;
  /// Verifies the new Ir and returns `result`: the last step of a transform.
  Rewritten finish();
  /// The graphs of the old Ir, callees before callers.
  std::vector<const Graph*> order() const;
  Graph& begin(const Graph& graph);  ///< copies inputs, variables and constants
  void end(const Graph& graph);      ///< outputs
  /// An op like `op` in `to`, whose operands `tensors` has; its outputs are added there.
  Op* copy(const Op& op, Graph& to, std::unordered_map<const Tensor*, Tensor*>& tensors);
  Op* copy(const Op& op);
  /// Gives a new op the order constraints of an old one, with what replaced the ops it must follow.
  void constrain(Op& made, const Op& like);
  /// What has taken the place of an old op: one op, or all ops of a graph that was called.
  std::unordered_map<const Op*, std::vector<Op*>> replaced;

 private:
  const Ir& from_;
  std::unordered_set<const Graph*> left_out_;
};

/// Makes the next op come from where another one came from, on its IPU and tile set.
void place_like(Ir& ir, const Op& op);
/// `made` runs after `before`, unless they are one.
void add_order(Op& made, Op* before);

}  // namespace pxl
