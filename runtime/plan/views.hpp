// Views in plans. Kernels take contiguous operands, so a view whose elements lie otherwise (a slice, a transposition,
// tensors joined) is a copy, made where it is read and written back where it is changed. In: nodes of which some are
// strided views. Out: nodes of which none is; what shares memory behaves as if there were that memory alone.
#pragma once

#include "runtime/plan/passes/flatten_calls.hpp"

namespace pxl {

/// Views of memory that no node changes are plain copies afterwards, which transforms treat like any other. For the
/// rest each change of a view is followed by writes to the memory that it is a view of, and each use of memory that has
/// changed under another name by a fresh copy. `outputs` get the names of the values at the end; `flat` keeps the
/// tensors and ops that are made.
/// Throws Error where a node that stays whole (an iteration of a loop, an op that changes two operands) has the same
/// memory under two names and changes it.
void resolve_views(std::vector<Node>& nodes, std::vector<const Tensor*>& outputs, FlattenedGraph& flat);

}  // namespace pxl
