// Resolves the arguments of an op, from a program or a gradient, into operands by slot and attributes.
#pragma once

#include "runtime/ops/op_builder.hpp"

namespace pxl {

/// Fills in defaults and converts every argument to what its parameter's kind holds: operands become Exprs of
/// `at` (constants where an array or a number stands beside a tensor), everything else an Attr.
/// Throws Error naming op and parameter where an argument is missing or of the wrong kind.
OpArgs resolve(OpBuilder& at, const OpRow& row, OpArgs args);

/// Common dtype of two host values: the wider one; floating over integer over bool.
DType promoted(DType a, DType b);

}  // namespace pxl
