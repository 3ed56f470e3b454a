// Resolves the arguments of an op, from a program or a gradient, into operands by slot and attributes.
#pragma once

#include "runtime/ops/op_builder.hpp"

namespace pxl {

/// Fills in defaults and converts each argument to its parameter's kind. Operands become Exprs of `at` (arrays and
/// numbers become constants if combined with a tensor), other arguments become Attrs. Throws Error that names op and
/// parameter for missing arguments and wrong kinds.
OpArgs resolve(OpBuilder& at, const OpRow& row, OpArgs args);

/// Common dtype of two host values: the wider one; floating over integer over bool.
DType promoted(DType a, DType b);

}  // namespace pxl
