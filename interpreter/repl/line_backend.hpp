// What a library that edits lines has to do for LineEditor. The build chooses line_readline.cpp, line_libedit.cpp or
// line_none.cpp (cmake/line_editor.cmake). All share what Tab means and what a list looks like.
#pragma once

#include <string>
#include <string_view>

#include "interpreter/tools/completion.hpp"

namespace pxl::line_backend {

/// "readline 8.2"; empty where nothing was built in.
std::string name();
/// Once, before all else.
void set_up();
/// One line; false at the end of the input. `prompt` may hold escapes. An interrupt ends the line.
bool read(const std::string& prompt, std::string& line);
void remember(const std::string& input);
void forget_all();

/// One byte of a file. An interrupt is seen whenever it came: signals come in only while this waits.
enum : int { end_of_input = -1, interrupted = -2, other_signal = -3 };
int next_byte(int fd);

/// A prompt with marks around its escapes, which take no columns.
std::string marked(const std::string& prompt, char before, char behind);

/// What Tab does with `line` at the byte `cursor`.
struct Tab {
  enum class Kind : uint8_t { nothing, replace, list };
  Kind kind = Kind::nothing;
  size_t begin = 0;   ///< replace: the bytes [begin, cursor) become `text`
  std::string text;   ///< replace
  Completions found;  ///< list
};
Tab tab(const std::string& line, size_t cursor);
/// Prints what was matched under the line, in columns; with details where there are few.
void list(const Completions& found);

}  // namespace pxl::line_backend
