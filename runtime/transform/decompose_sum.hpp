// Splits sums of many tensors (the gradients of a tensor with several consumers) into additions.
#pragma once

#include "runtime/transform/rebuild.hpp"

namespace pxl {

/// Replaces each Sum of n operands by an Init and n Adds, so that at most two operands must be live at a time.
/// Preserves values, except that a zero loses its sign.
Rewritten decompose_sums(const Ir& ir);

}  // namespace pxl
