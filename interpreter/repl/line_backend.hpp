// Interface between LineEditor and a line-editing library. The build selects line_readline.cpp, line_libedit.cpp or
// line_none.cpp (cmake/line_editor.cmake), which share completion and the display of candidates.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "interpreter/tools/completion.hpp"

namespace pxl::line_backend {

/// "readline 8.2"; empty if no library is built in.
std::string name();
/// Call once, before all others.
void set_up();
/// Reads one line, which begins with `typed` as if the user had typed it; returns false at the end of the input.
/// `prompt` may contain escape sequences. An interrupt ends the line.
bool read(const std::string& prompt, const std::string& typed, std::string& line);
/// Shows lines as `paint` colours them while they are typed: it adds escape sequences and nothing else. False if the
/// library draws lines by itself only.
bool set_painter(std::function<std::string(std::string_view)> paint);
void remember(const std::string& input);
void forget_all();

/// Reads one byte of a file. Signals are unblocked only during the wait, so that no interrupt is lost.
enum : int { end_of_input = -1, interrupted = -2, other_signal = -3 };
int next_byte(int fd);

/// A prompt with its escape sequences marked as zero-width.
std::string marked(const std::string& prompt, char before, char after);

/// The action of Tab for `line` with the cursor at byte `cursor`.
struct Tab {
  enum class Kind : uint8_t { nothing, replace, list };
  Kind kind = Kind::nothing;
  size_t begin = 0;   ///< for replace: the bytes [begin, cursor) become `text`
  std::string text;   ///< for replace
  Completions found;  ///< for list
};
Tab tab(const std::string& line, size_t cursor);
/// Ctrl-D, which ends the input on an empty line.
constexpr int end_of_transmission = 4;
/// Whether a line has nothing but spaces.
inline bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }
/// Number of spaces before the cursor that a closing bracket typed there takes back: one level of indentation if
/// nothing else is before it.
size_t outdent(std::string_view line, size_t cursor);
/// Prints the candidates below the line in columns, with details if there are few.
void list(const Completions& found);

}  // namespace pxl::line_backend
