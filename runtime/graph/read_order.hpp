// Reads of older values: an op that reads memory as an earlier op found it, although a later op of the graph changes
// it. The changes are moved after the reader, with all that depends on them.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Whether an op after `op` in its graph modifies memory. Linear in the number of these ops.
bool is_memory_changed_after(const Op& op);

/// Whether an op between two ops of `reader`'s graph modifies operands of `reader`.
bool is_read_changed(const Op& after, const Op& before, const Op& reader, const std::vector<size_t>& slots);

/// Orders `since`, and then the last op of its graph, `reader`, before the ops after `since` that modify the operands
/// of `slots`: `reader` reads what `since` read. Throws an Error that names such an op, if `reader` depends on it.
/// `what` begins the message.
void read_as_of(Op& since, Op& reader, const std::vector<size_t>& slots, std::string_view what);

}  // namespace pxl
