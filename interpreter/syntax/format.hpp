// The code formatter. Only whitespace changes: tokens and comments of the result equal those of the source, in order
// (verified for every text), so the meaning is preserved.
#pragma once

#include <string>

#include "runtime/base/source.hpp"

namespace pxl {

/// Maximum columns of a line of code; comments are never broken.
constexpr int format_width = 100;

/// Returns the formatted text, which ends with one newline unless it is empty. Idempotent. Throws Error with all
/// diagnostics if the text does not parse.
std::string format_source(const SourceFile& source);

}  // namespace pxl
