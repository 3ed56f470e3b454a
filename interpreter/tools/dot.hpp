// Graphs as pictures, in Graphviz's language.
#pragma once

#include <string>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A digraph: ops as boxes, inputs and variables as ellipses, edges labelled with specs; each called graph is a cluster
/// of its own, and a dotted edge leads from a call to it.
std::string dot_text(const Graph& graph);

}  // namespace pxl
