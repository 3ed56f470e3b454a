// Counts floating-point operations, by the cost functions of the rows.
#pragma once

#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// The operations in one execution of an op: its row's `flops`, or one per output element. Excludes called graphs.
int64_t flops_of(const Op& op);

/// The operations in one execution of a graph and its calls: a loop counts each iteration, a branch its more expensive
/// side. Saturates at 2^63 - 1.
int64_t flops_of(const Graph& graph);

/// The operations of each op, by op id: for a graph and all graphs that it calls, each graph once. An op that calls
/// graphs includes theirs.
std::vector<std::pair<const Op*, int64_t>> flops_by_op(const Graph& graph);

}  // namespace pxl
