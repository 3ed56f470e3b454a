// Runs one op outside a plan: on host arrays, and on constants while planning.
#pragma once

#include <span>
#include <vector>

#include "runtime/op/op.hpp"
#include "runtime/tensor/array.hpp"

namespace pxl {

/// The outputs of an op, computed on the calling thread by the row's kernel, or its definition if it has none. `in` is
/// indexed by slot; elements of absent operands are ignored. Requires inferred outputs in `site.out`. An output that is
/// operand 0 under another shape shares its memory (copy-on-write). Operands are not modified: an op that modifies one
/// works on a copy, which is output 0 if the row says that they share memory. Throws the exceptions of the kernel, and
/// Interrupted between chunks of long kernels. Charges the budget, under which large or slow results have no elements
/// (Array::unevaluated).
std::vector<Array> run_op(const OpContext& site, std::vector<Array> in);
/// The same with `kernel`, that of the site.
std::vector<Array> run_kernel(const Kernel& kernel, const OpContext& site, std::vector<Array> in);

/// Whether the op's result has its operand's bytes in the same order (a reshape, or a transposition that moves unit
/// axes only). run_op then returns the operand's own memory, which is copied when either is changed.
bool is_shared_view(const OpContext& site);
/// Estimated time of a kernel, in ns of one core; of one without an estimate, from the elements that it reads and
/// writes.
double estimated_ns(const Kernel& kernel, std::span<const Array> in, std::span<const TensorSpec> out);

}  // namespace pxl
