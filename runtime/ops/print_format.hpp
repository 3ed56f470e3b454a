// Resolves the format of a print op from its attributes.
#pragma once

#include "runtime/kernels/outside/print.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Throws Error for unknown formats and invalid sizes.
PrintFormat print_format(const OpContext& s);

}  // namespace pxl
