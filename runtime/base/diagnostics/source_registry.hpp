// The source texts of this process, by name.
#pragma once

#include <string_view>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

/// The text that was added last under a name; null if none was.
const SourceFile* find_source(std::string_view name);

}  // namespace pxl
