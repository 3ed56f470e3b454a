// Standard output and standard error of the process. Every write goes through the functions below: none throws, and a
// stream that is closed or full ends no process. Text is cleaned (utf8.hpp), because messages contain file names and
// texts from models and programs. tests/house/rules.py checks that no other file writes to the streams, and which files
// write control characters on purpose.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace pxl {

/// Call first in main. Occupies the descriptors 0 to 2 if they are closed, so that a file that is opened later cannot
/// become standard error. Reading and writing these descriptors still fails. A file that grows beyond the process's
/// limit (SIGXFSZ) is from then on an error of the write (EFBIG). Standard output is written line by line.
void prepare_standard_streams() noexcept;

/// Writes to standard output. The last line is buffered until it ends. Waits for a reader that is slow, whether or not
/// the descriptor blocks. Ctrl-C ends the wait, and the rest of the text stays in the buffer. Returns false if text is
/// lost.
bool write_out(std::string_view text) noexcept;
/// The same for a file's text that another program may read: it is cleaned where standard output is a terminal.
bool write_data(std::string_view text) noexcept;
/// The same for the output of a program, and for text whose parts were cleaned before they were coloured.
bool write_out_as_is(std::string_view text) noexcept;
/// Writes the buffer. Returns false if text was lost, now or before, or if Ctrl-C ended the wait.
bool flush_out() noexcept;
/// The system's reason (errno) of the first write to standard output that failed; 0 if none did.
int out_error() noexcept;

/// Writes to standard error, after all earlier text on standard output. Waits as write_out does. Text that cannot be
/// written is dropped.
void write_err(std::string_view text) noexcept;
void write_err_as_is(std::string_view text) noexcept;

/// Whether the text that was written last, to either stream, left its line unfinished: the cursor of a terminal is then
/// not in column 0.
bool line_is_unfinished() noexcept;

/// While muted, both streams drop their text: another process of the job writes the same text.
void mute_streams(bool muted) noexcept;

/// Redirects the text of both streams to `sink`, until `sink` is null.
void redirect_streams(void (*sink)(void* context, bool to_err, std::string_view text), void* context) noexcept;

template <class... T>
bool print_out(fmt::format_string<T...> format, T&&... values) {
  return write_out(fmt::format(format, std::forward<T>(values)...));
}
template <class... T>
void print_err(fmt::format_string<T...> format, T&&... values) {
  write_err(fmt::format(format, std::forward<T>(values)...));
}

}  // namespace pxl
