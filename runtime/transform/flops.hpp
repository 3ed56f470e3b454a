// Counts floating-point operations, by the cost functions of the rows.
#pragma once

#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Of one execution of an op: its row's `flops`, or one per output element. Excludes called graphs.
int64_t flops_of(const Op& op);

/// Of one execution of a graph with all it calls: a loop counts each iteration, a branch its more expensive side.
/// Saturates at 2^63 - 1.
int64_t flops_of(const Graph& graph);

/// The ops of a graph and of all graphs that it calls, each graph once, by op id. An op that calls graphs includes
/// theirs.
std::vector<std::pair<const Op*, int64_t>> flops_by_op(const Graph& graph);

}  // namespace pxl
