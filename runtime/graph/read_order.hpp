// Reads of older values: an op reads memory as an earlier op found it, although a later op of the graph changes the
// memory. The changes are moved after the reader, with all that depends on them.
#pragma once

#include <string_view>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Whether an op after `op` in its graph modifies memory. Linear in the number of these ops.
bool is_memory_changed_after(const Op& op);

/// Whether an op between `after` and `before` modifies the operands in `slots` of `reader`. Both ops are in `reader`'s
/// graph.
bool is_read_changed(const Op& after, const Op& before, const Op& reader, const std::vector<size_t>& slots);

/// An operand that an op reads as an earlier op found it.
struct Reading {
  size_t slot = 0;
  Op* since = nullptr;
};

/// Orders the last op of its graph, `reader`, before the ops after `since` that modify an operand, and these after
/// `since`, for each reading. Throws an Error that names such an op, if `reader` depends on it. `what` begins the
/// message.
void read_as_of(const std::vector<Reading>& readings, Op& reader, std::string_view what);
/// The same of several operands that one op found.
void read_as_of(Op& since, Op& reader, const std::vector<size_t>& slots, std::string_view what);

}  // namespace pxl
