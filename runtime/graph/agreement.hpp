// What is the same on all replicas.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Throws, at the op's place, if a collective of several replicas is in a branch that some of them may take and
/// others not: they would wait for each other. A condition is the same on all replicas if it depends only on constants,
/// on collectives of all replicas that give each the same, and on variables of one value that change by such alone.
void check_collectives(const Ir& ir);

}  // namespace pxl
