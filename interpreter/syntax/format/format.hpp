// The code formatter. Only whitespace changes: the result has the same tokens and comments as the source, in the same
// order. This is verified for every text, so that formatting preserves the meaning.
#pragma once

#include <string>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

/// Maximum width of a code line, in columns. Comments are never broken.
constexpr int format_width = 100;

/// Returns the formatted text, which ends with one newline unless it is empty. Idempotent. Throws Error with all
/// diagnostics if the text does not parse.
std::string format_source(const SourceFile& source);

}  // namespace pxl
