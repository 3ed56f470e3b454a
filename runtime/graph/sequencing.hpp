// State of the `in_sequence` blocks that are open in a graph.
#pragma once

#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct Graph::Sequencing {
  struct SequenceScope {
    InSequence::Mode mode;
    std::vector<Op*> frontier;  ///< ops that the next op must run after
    std::vector<Op*> made;      ///< what an enclosing chain must wait for: the last op of `yes`, all ops of `no`
  };
  std::vector<SequenceScope> open;
};

}  // namespace pxl
