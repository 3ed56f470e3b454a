// The order of a graph's ops: open `in_sequence` blocks, and whether the order is still that of creation.
#pragma once

#include <unordered_set>
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

  /// Moves ops to the end of the graph's list, in their present order. The caller knows that no other op needs them.
  static void move_to_end(Graph& graph, const std::unordered_set<const Op*>& ops);
  /// For a rollback: puts ops that were there at a mark into their order then, and later ones after them.
  static void restore_order(Graph& graph, const std::vector<const Op*>& order);
};

}  // namespace pxl
