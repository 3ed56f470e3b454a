// Scheduling of a graph, and the textual form of schedules.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// A topological order that respects data, `after` constraints and in-place updates, and keeps peak live memory low.
/// Greedily takes the ready op that leaves the fewest bytes live; ties by creation. Deterministic.
std::vector<Op*> schedule_order(const Graph& graph);
/// The same for the ops that decide a tensor's value.
std::vector<Op*> schedule_order(const Tensor& tensor);

/// Format: docs, section "Schedules are a format". No trailing newline.
std::string print_schedule(const Graph& graph);

/// Throws "Inplacing ambiguity detected ..." if data and constraints do not order an in-place update and another access
/// to the same memory. Checks all graphs reachable from the main graph.
void check_inplace_order(const Ir& ir);
/// The same check for the ops that the tensor depends on, or a modification of its memory, and for the graphs that they
/// call.
void check_inplace_order(const Tensor& tensor);

}  // namespace pxl
