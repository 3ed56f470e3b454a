#include "runtime/base/wrap.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "runtime/base/source.hpp"

namespace pxl {
namespace {

constexpr size_t program_indent = 4;

/// Where the text of a line begins: after the indentation, or after the first two or more spaces behind a name.
size_t text_start(std::string_view line, size_t indent, int width) {
  const size_t gap = line.find("  ", indent);
  if (gap == line.npos) return indent;
  const size_t start = line.find_first_not_of(' ', gap);
  return start == line.npos || start > static_cast<size_t>(width) * 2 / 3 ? indent : start;
}

void wrap_line(std::string& out, std::string_view line, int width) {
  const size_t indent = std::min(line.find_first_not_of(' '), line.size());
  if (indent >= program_indent || display_width(line) <= width) {
    out += line;
    return;
  }
  size_t start = text_start(line, indent, width);
  const std::string hang(start, ' ');
  out += line.substr(0, start);
  int column = static_cast<int>(start);
  for (bool first = true; start < line.size(); first = false) {
    const size_t end = std::min(line.find(' ', start), line.size());
    const std::string_view word = line.substr(start, end - start);
    const int wide = display_width(word);
    if (!first && column + 1 + wide > width) {
      out += "\n" + hang;
      column = static_cast<int>(hang.size());
    } else if (!first) {
      out += ' ';
      ++column;
    }
    out += word;
    column += wide;
    start = end + 1;
  }
}

}  // namespace

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

int help_width() {
  constexpr int narrowest = 40, widest = 100;
  winsize size{};
  if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return widest;
  return std::clamp(static_cast<int>(size.ws_col), narrowest, widest);
}

}  // namespace pxl
