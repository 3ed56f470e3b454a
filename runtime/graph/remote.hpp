// Ops on remote buffers (Ir::remote_buffers).
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

bool is_remote(const Op& op);
/// The index of the buffer of a load or store.
int64_t remote_buffer_of(const Op& op);
/// Throws unless a variable of this spec may be the entry.
void check_remote_variable(const Ir& ir, const RemoteEntry& at, const TensorSpec& spec, const std::string& name);
/// Puts an op that touches a remote buffer, by itself or in graphs that it calls, after the last one of its graph that
/// does: they keep the order in which they were created.
void keep_remote_order(Op& op);

}  // namespace pxl
