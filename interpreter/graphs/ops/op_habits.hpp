// Calls of ops that have another meaning in another framework. A call that would silently be wrong is an error, or a
// notice once per run.
#pragma once

#include "interpreter/values/value.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Throws or prints a notice before the arguments are bound. Padding given as pairs becomes the op's list.
void read_op_habits(Interpreter& in, const OpRow& row, Arguments& args);

}  // namespace pxl
