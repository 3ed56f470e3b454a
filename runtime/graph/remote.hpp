// Ops on remote buffers (Ir::remote_buffers).
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

bool is_remote(const Op& op);
/// The index of the buffer that a load or store uses.
int64_t remote_buffer_of(const Op& op);
/// Throws unless a variable of this spec may be the entry.
void check_remote_variable(const Ir& ir, const RemoteEntry& at, const TensorSpec& spec, const std::string& name);
/// Puts an op that touches a remote buffer after the last such op in its graph: these ops keep the order in which they
/// were created. A call touches the buffers that its graphs touch.
void keep_remote_order(Op& op);

}  // namespace pxl
