// Text within HTML, SVG and XML.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// The text as an element's content or a quoted attribute: & < > " are written as entities; control characters, which
/// these formats exclude, become spaces.
std::string escape_markup(std::string_view text);

}  // namespace pxl
