// How a print op prints, from its attributes.
#pragma once

#include "runtime/kernels/print.hpp"
#include "runtime/op/op.hpp"

namespace pxl {

/// Refuses formats that do not exist and sizes that make no sense.
PrintFormat print_format(const OpContext& s);

}  // namespace pxl
