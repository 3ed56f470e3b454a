// The open `in_sequence` blocks of a graph.
#pragma once

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
};

}  // namespace pxl
