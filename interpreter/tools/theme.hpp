// Terminal colours of source text and schedules. Texts are cleaned (runtime/base/text/utf8.hpp).
#pragma once

#include <string>
#include <string_view>

#include "interpreter/syntax/classify.hpp"

namespace pxl {

/// Program text with ANSI colours for each class of tokens. Only escape sequences are added to the cleaned text.
std::string colour_source(std::string_view text);
/// Colours a schedule: op names, tensors, specs.
std::string colour_schedule(std::string_view text);
/// Formats a text in a style: "1" bold, "2" faint, "31" red.
std::string styled(std::string_view text, std::string_view style);

}  // namespace pxl
