// The gradient of ops that end a path of derivatives, such as detach.
#pragma once

#include "runtime/ops/op_builder.hpp"

namespace pxl {

/// Sets no gradient. Errors about a missing path name the ops that have this column.
void stop_gradient(GradContext& c);

}  // namespace pxl
