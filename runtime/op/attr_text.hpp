// Attributes as keys.
#pragma once

#include <string>

#include "runtime/op/op.hpp"

namespace pxl {

/// Equal for equal values and for no others; for no reader.
std::string attr_text(const Attr& attr);

}  // namespace pxl
