// Strided views. Kernels accept contiguous operands, so a slice, a transposition or a join of tensors is a copy. The
// copy is made where the view is read, and written back where the view is changed. In: nodes, some of them strided
// views. Out: nodes without strided views, whose results are those of shared memory.
#pragma once

#include "runtime/plan/passes/flatten_calls.hpp"

namespace pxl {

/// Views of memory that no node writes become plain copies, which passes treat like other ops. A view of other memory
/// is kept in step: each write to a view is followed by a write to its source, and each read of memory that was written
/// under another name by a fresh copy. `outputs` is updated to the tensors that hold the values at the end; `flat` owns
/// the tensors and ops that are created. A node that cannot be split is an iteration of a loop or an op that changes
/// two operands. Throws Error if such a node has overlapping operands and writes one of them.
void resolve_views(std::vector<Node>& nodes, std::vector<const Tensor*>& outputs, FlattenedGraph& flat);

/// The row of ops that write the elements of input 1 through a view into input 0. Internal to the planner: a node of it
/// knows the elements.
const OpRow& write_back_row();

}  // namespace pxl
