// Runs one op outside a plan: on host arrays, and on constants while planning.
#pragma once

#include <vector>

#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The outputs of an op, computed on the calling thread by the row's kernel, or its definition if it has none. `in` is
/// indexed by slot; elements of absent operands are ignored. Requires inferred outputs in `site.out`. An output
/// that is operand 0 under another shape shares its memory (copy-on-write). Operands are not modified: an op that
/// modifies one works on a copy, which is output 0 if the row says that they share memory. Throws what the kernel
/// throws, and Interrupted between chunks of long kernels. Charges the budget, under which large or slow results have
/// no elements (Array::unevaluated).
std::vector<Array> run_op(const OpContext& site, std::vector<Array> in);

}  // namespace pxl
