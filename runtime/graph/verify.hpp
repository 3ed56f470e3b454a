// IR verifier: the invariants that transforms, plans and kernels rely on.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Throws an internal Error that names the first violation. Checks ownership, producer and consumer lists, unique ids,
/// specs as inferred by the row, acyclic constraints, arguments and results of calls, and the absence of recursion.
void verify(const Ir& ir);
void verify(const Graph& graph);
/// Calls verify(ir) if verification_enabled() (base/verification.hpp). Each transform ends with it.
void verify_transformed(const Ir& ir);

}  // namespace pxl
