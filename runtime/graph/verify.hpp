// The specification of the IR: every invariant that transforms, plans and kernels rely on, as one check.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Throws an internal Error naming the first violation: ownership, producer and consumer lists, unique ids, specs
/// equal to what the row infers, acyclic constraints, call inputs and outputs matching the callee, no recursion.
void verify(const Ir& ir);
void verify(const Graph& graph);
/// verify(ir), if verification_enabled() (base/verification.hpp). Every transform ends with it.
void verify_transformed(const Ir& ir);

}  // namespace pxl
