// Calls of ops that another framework means in another way. What would be wrong without a word is an error, or a notice
// once a run.
#pragma once

#include "interpreter/values/value.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Throws or notes before the arguments are bound; padding by pairs becomes the op's list.
void read_op_habits(Interpreter& in, const OpRow& row, Arguments& args);

}  // namespace pxl
