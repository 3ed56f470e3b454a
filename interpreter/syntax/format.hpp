// The canonical layout of a program's text. Nothing but space changes: the tokens and the comments of the result are
// those of the source, in order (checked on every text), so the meaning cannot change.
#pragma once

#include <string>

#include "runtime/base/source.hpp"

namespace pxl {

/// Columns that a line of code may use; comments are never broken.
constexpr int format_width = 100;

/// The text in canonical form; ends with one newline unless it is empty. Idempotent.
/// Throws Error with all diagnostics where the text does not parse.
std::string format_source(const SourceFile& source);

}  // namespace pxl
