// How a print op prints, from its attributes.
#pragma once

#include "runtime/graph/op.hpp"
#include "runtime/kernels/print.hpp"

namespace pxl {

/// Refuses formats that do not exist and sizes that make no sense.
PrintFormat print_format(const OpSite& s);

}  // namespace pxl
