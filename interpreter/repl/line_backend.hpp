// The interface between LineEditor and a line-editing library. The build selects line_readline.cpp, line_libedit.cpp or
// line_none.cpp (cmake/line_editor.cmake), which share completion and the display of candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "interpreter/tools/completion.hpp"

namespace pxl::line_backend {

/// "readline 8.2"; empty if no library is built in.
std::string name();
/// Must be called once, before all others.
void set_up();
/// Reads one line, which begins with `typed` as if the user had typed it. Returns false at the end of the input.
/// `prompt` may contain escape sequences. An interrupt ends the line.
bool read(const std::string& prompt, const std::string& typed, std::string& line);
/// Colours lines while the user types: `paint` adds escape sequences and nothing else. Returns false if only the
/// library itself can draw lines.
bool set_painter(std::function<std::string(std::string_view)> paint);
void remember(const std::string& input);
void forget_all();

/// Reads one byte of a file. Signals are unblocked only during the wait, so that no interrupt is lost. After
/// `other_signal` the caller must call take_terminal_event().
enum : int { end_of_input = -1, interrupted = -2, other_signal = -3 };
int next_byte(int fd);

/// Changes of the terminal since the last call. After `stop_requested` (Ctrl-Z) the backend restores the terminal's
/// modes and calls stop_process(). After `continued` the backend sets its modes again and draws the line.
enum class TerminalEvent : uint8_t { nothing, resized, stop_requested, continued };
TerminalEvent take_terminal_event();
/// Stops this process as Ctrl-Z does; returns when the shell continues the process.
void stop_process();

/// The cursor's position on the terminal, relative to the first column of the prompt.
struct Place {
  int row = 0, column = 0;
};
/// The place after a text that follows a prompt of `prompt_width` columns, with lines wrapped at `columns`.
Place place_after(int prompt_width, std::string_view text, int columns);
/// Clears the prompt and the line after the terminal was resized from `old_columns`, and leaves the cursor where the
/// prompt began. Some terminals wrap old rows anew, others keep them. If this makes a difference, the function asks the
/// terminal for the cursor's column.
void clear_line(int prompt_width, std::string_view before_cursor, int old_columns);

/// The prompt with its escape sequences marked as zero-width.
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
/// Whether a line is empty or has spaces only.
inline bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }
/// Number of spaces before the cursor that a typed closing bracket removes: one level of indentation, if nothing else
/// is before the cursor.
size_t outdent(std::string_view line, size_t cursor);
/// Prints the candidates below the line in columns, with details if there are few.
void list(const Completions& found);

}  // namespace pxl::line_backend
