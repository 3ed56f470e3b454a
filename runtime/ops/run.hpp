// Runs one op outside a plan: on host arrays, and on constants while planning.
#pragma once

#include <vector>

#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The outputs of an op, computed on the calling thread by the row's kernel, or its definition where it has none. `in`
/// is indexed by slot; its element is ignored where the operand is absent. `site.out` must be inferred. Operands are
/// not changed: an op that modifies one works on a copy, which is output 0 where the row says that they share memory.
/// Throws what the kernel throws, and Interrupted between chunks of a long one. Charges the budget, under which large
/// or slow results are left without elements (Array::unevaluated).
std::vector<Array> run_op(const OpContext& site, std::vector<Array> in);

}  // namespace pxl
