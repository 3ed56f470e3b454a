// Colours of a terminal: what is source, what is a schedule.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/syntax/classify.hpp"

namespace pxl {

/// Whether escapes belong on a stream: a terminal, no NO_COLOR, TERM other than "dumb".
bool wants_colour(int file_descriptor);

/// Program text with ANSI colours by class of token. Nothing but escapes is added.
std::string colour_source(std::string_view text);
/// A schedule: op names, tensors, specs.
std::string colour_schedule(std::string_view text);
/// One piece of text in a style: "1" bold, "2" faint, "31" red.
std::string styled(std::string_view text, std::string_view style);

}  // namespace pxl
