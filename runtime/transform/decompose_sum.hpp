// Sums of many tensors, as the gradients of a tensor used several times are, one addition at a time.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// The program with each op Sum of n operands as an Init and n Adds, so that no more than two of the operands need to
/// be in memory at a time. Values stay what they are, except that a zero loses its sign.
Rewritten decompose_sums(const Ir& ir);

}  // namespace pxl
