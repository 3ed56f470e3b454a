// The order in which a graph runs, and its textual form.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A topological order of the graph's ops that respects data, `after` constraints and in-place updates (readers
/// whose order relative to an update is fixed by data or constraints), and keeps the peak of live memory low:
/// greedily the ready op after which the fewest bytes are live, ties by creation. Deterministic.
std::vector<Op*> schedule_order(const Graph& graph);

/// The format of the language's section "Schedules are a format"; no trailing newline.
std::string print_schedule(const Graph& graph);

/// Throws "Inplacing ambiguity detected ..." where an in-place update and another use of the same memory are
/// not ordered by data or constraints, in any graph reachable from the main graph.
void check_inplace_order(const Ir& ir);
/// The same for the ops from which data or constraints lead to the tensor or to a change of its memory, and the graphs
/// that they call.
void check_inplace_order(const Tensor& tensor);

}  // namespace pxl
