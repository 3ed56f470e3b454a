// Text filled to a width, for terminals.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// Wraps lines wider than `width` columns at words. Continued lines begin where the line's text does: below its
/// indentation or, in a row of a name and a text two or more spaces apart, below the text. Lines indented by four or
/// more spaces are programs and stay as they are, as do words wider than a line.
std::string wrap_lines(std::string_view text, int width);

/// The width for help on standard output: the terminal's, between 40 and 100 columns; 100 if it is no terminal.
int help_width();

}  // namespace pxl
