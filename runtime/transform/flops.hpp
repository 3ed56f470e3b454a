// Floating point operations by the cost functions of the op rows.
#pragma once

#include <utility>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Of one execution of an op: its row's `flops`, or one per element of its outputs. What an op calls is not included.
int64_t flops_of(const Op& op);

/// Of one execution of a graph with everything that it calls: a loop counts each iteration, a branch its more
/// expensive side. At most 2^63 - 1.
int64_t flops_of(const Graph& graph);

/// The ops of a graph and of all graphs below it, each graph once, by op id. An op that calls graphs has the
/// operations of all that it runs.
std::vector<std::pair<const Op*, int64_t>> flops_by_op(const Graph& graph);

}  // namespace pxl
