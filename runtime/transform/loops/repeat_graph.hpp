// Programs that perform several steps per run.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// A program that performs the main graph's ops `count` times per run: they move to a graph
/// "NAME_repeat_graph_subgraph(n)" that a loop runs, with the variables as inputs, by reference if they are modified. A
/// stream transfers one sample per iteration. Tensors of the main graph other than variables have no counterpart.
Rewritten repeat_graph(const Ir& ir, int64_t count);

}  // namespace pxl
