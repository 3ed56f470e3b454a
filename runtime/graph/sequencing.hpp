// The order of a graph's ops: open `in_sequence` blocks, and whether the order is still that of creation.
#pragma once

#include <unordered_set>
#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct Graph::Sequencing {
  struct SequenceScope {
    InSequence::Mode mode;
    std::vector<Op*> frontier;  ///< ops that the next op must run after
    std::vector<Op*> made;      ///< what the enclosing chain depends on: the last op of `yes`, all ops of `no`
  };
  std::vector<SequenceScope> open;
  bool reordered = false;  ///< ops are not in the order of their creation
  /// Constraints that were added to ops after their creation: the op, and another one that must run before it.
  std::vector<std::pair<Op*, const Op*>> constraints;

  /// Moves ops to the end of the graph's list, in their present order. The caller knows that no other op needs them.
  static void move_to_end(Graph& graph, const std::unordered_set<const Op*>& ops);
  static void add_constraint(Op& op, Op& before);
  /// Rolls back: restores the order that ops had at a mark, and puts later ops after them; removes later constraints.
  static void restore(Graph& graph, const Sequencing& then, const std::vector<const Op*>& order);
};

}  // namespace pxl
