// Text filled to a width, for terminals.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

/// Wraps lines wider than `width` columns at words. Continued lines begin below the line's text: at its indentation or,
/// in a row of a name and a text two or more spaces apart, below the text. Lines indented by four or more spaces are
/// programs and stay as they are, as do words wider than a line. Escape sequences have no width.
std::string wrap_lines(std::string_view text, int width);
/// Wraps one line whose first character is `column` columns from the left; continued lines begin with `hang` spaces.
std::string wrap_words(std::string_view line, int width, int column, size_t hang);

/// Columns of a text without its escape sequences of colours.
int visible_width(std::string_view text);

/// Renders for a terminal of `width` columns: message, notes and calls are wrapped at words, and an excerpt of a longer
/// line is cut around the place. 0: nothing is wrapped.
std::string render(const Diagnostic& d, bool colour, int width);

/// The width for help on standard output: the terminal's, between 40 and 100 columns; 100 if it is no terminal.
int help_width();

/// The width for messages on standard error: the terminal's, from 20 columns; 0 if it is no terminal.
int message_width();
/// A notice as it is written to standard error: wrapped there, apart from texts that move the cursor.
std::string wrapped_message(std::string_view text);

/// Whether to write colours to a stream: it is a terminal, NO_COLOR is unset or empty, and TERM names a terminal other
/// than "dumb".
bool wants_colour(int file_descriptor);

/// Columns and rows of a file descriptor's terminal; zeros if it is none.
std::pair<int, int> terminal_size(int file_descriptor);

}  // namespace pxl
