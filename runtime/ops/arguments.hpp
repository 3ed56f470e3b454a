// From the arguments of an op, as a program or a gradient gives them, to operands by slot and attributes.
#pragma once

#include "runtime/ops/op_builder.hpp"

namespace pxl {

/// Fills in defaults and converts every argument to what its parameter's kind holds: operands become Exprs of
/// `at` (constants where an array or a number stands beside a tensor), everything else an Attr.
/// Throws Error naming op and parameter where an argument is missing or of the wrong kind.
OpArgs resolve(OpBuilder& at, const OpRow& row, OpArgs args);

/// The dtype that two host values share: the wider one, floating before integer before bool.
DType promoted(DType a, DType b);

}  // namespace pxl
