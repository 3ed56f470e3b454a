// Checks that all replicas meet at the same collectives.
#pragma once

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Throws, at the op's place, if a collective of several replicas is in a branch that some of them may not take: the
/// others would wait for them. A condition is the same on all replicas if it depends only on constants, on collectives
/// with one result for all replicas, and on agreeing variables. A variable agrees if it has one value and if only such
/// values change it.
void check_collectives(const Ir& ir);

}  // namespace pxl
