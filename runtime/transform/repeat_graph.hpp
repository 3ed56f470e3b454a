// Programs that perform several steps per run.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// The program whose main graph repeats what the old one does `count` times: its ops are in a graph
/// "NAME_repeat_graph_subgraph(n)" that a loop runs, with the variables as inputs, by reference where they change.
/// A stream moves a sample for each iteration. Tensors of the main graph other than variables have no counterpart.
Rewritten repeat_graph(const Ir& ir, int64_t count);

}  // namespace pxl
