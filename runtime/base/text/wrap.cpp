#include "runtime/base/text/wrap.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {
namespace {

constexpr size_t program_indent = 4;

/// The column at which a line's text begins: after the indentation, or after the first two or more spaces that follow a
/// name.
size_t text_start(std::string_view line, size_t indent, int width) {
  const size_t gap = line.find("  ", indent);
  if (gap == line.npos) return indent;
  const size_t start = line.find_first_not_of(' ', gap);
  return start == line.npos || start > static_cast<size_t>(width) * 2 / 3 ? indent : start;
}

void wrap_line(std::string& out, std::string_view line, int width) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (indent >= program_indent || visible_width(line) <= width) {
    out += line;
    return;
  }
  const size_t start = text_start(line, indent, width);
  out += line.substr(0, start);
  out += wrap_words(line.substr(start), width, static_cast<int>(start), start);
}

}  // namespace

int visible_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const size_t escape = std::min(text.find('\x1b'), text.size());
    width += display_width(text.substr(0, escape));
    const size_t end = text.find('m', escape);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
  }
  return width;
}

std::string wrap_words(std::string_view line, int width, int column, size_t hang) {
  std::string out;
  bool first = true;
  for (size_t start = 0; start <= line.size(); first = false) {
    const size_t end = std::min(line.find(' ', start), line.size());
    const std::string_view word = line.substr(start, end - start);
    const int wide = visible_width(word);
    if (!first && column + 1 + wide > width) {
      out += "\n" + std::string(hang, ' ');
      column = static_cast<int>(hang);
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
    start = end + 1;
  }
  return out;
}

std::string wrap_lines(std::string_view text, int width) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    wrap_line(out, text.substr(0, end), width);
    if (end == text.size()) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

std::pair<int, int> terminal_size(int file_descriptor) {
  winsize size{};
  if (!isatty(file_descriptor) || ioctl(file_descriptor, TIOCGWINSZ, &size) != 0) return {0, 0};
  return {size.ws_col, size.ws_row};
}

bool wants_colour(int file_descriptor) {
  const char* const no_color = std::getenv("NO_COLOR");
  const char* const term = std::getenv("TERM");
  return isatty(file_descriptor) && !(no_color && *no_color) && term && *term && std::strcmp(term, "dumb") != 0;
}

int help_width() {
  constexpr int narrowest = 40, widest = 100;
  const int columns = terminal_size(STDOUT_FILENO).first;
  return columns == 0 ? widest : std::clamp(columns, narrowest, widest);
}

int message_width() {
  constexpr int narrowest = 20;
  const int columns = terminal_size(STDERR_FILENO).first;
  return columns == 0 ? 0 : std::max(columns, narrowest);
}

std::string wrapped_message(std::string_view text) {
  const int width = message_width();
  if (width == 0 || text.find('\r') != text.npos || text.find('\b') != text.npos) return std::string(text);
  return wrap_lines(text, width);
}

}  // namespace pxl
