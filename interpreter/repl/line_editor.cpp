#include "interpreter/repl/line_editor.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "interpreter/repl/line_backend.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/signals.hpp"
#include "runtime/base/source.hpp"
#include "runtime/base/standard_streams.hpp"

namespace pxl {
namespace {

std::function<Completions(std::string_view, size_t)>& completer() {
  static std::function<Completions(std::string_view, size_t)> f;
  return f;
}

LineEditor::Result read_plain(const std::string& prompt, std::string& line) {
  write_out(prompt);
  flush_out();
  // Bytes read before an interrupt, for inputs that are not a terminal: a terminal discards a typed line, a pipe does
  // not.
  static std::string begun;
  line = std::exchange(begun, {});
  const InterruptRequests guard(InterruptRequests::Waiting::ends);
  for (;;) {
    const int c = line_backend::next_byte(STDIN_FILENO);
    if (c == line_backend::other_signal) continue;
    if (c == line_backend::interrupted) {
      if (isatty(STDIN_FILENO) == 0) begun = line;
      return LineEditor::Result::interrupted;
    }
    if (c < 0) return line.empty() ? LineEditor::Result::end : LineEditor::Result::line;
    if (c == '\n') return LineEditor::Result::line;
    line += static_cast<char>(c);
  }
}

}  // namespace

namespace line_backend {

int next_byte(int fd) {
  sigset_t held, before;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGWINCH);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  int result = interrupted;
  if (!interrupt_requested()) {
    pollfd wait{fd, POLLIN, 0};
    unsigned char c = 0;
    if (ppoll(&wait, 1, nullptr, &before) < 0)
      result = errno != EINTR ? end_of_input : interrupt_requested() ? interrupted : other_signal;
    else if (const ssize_t n = ::read(fd, &c, 1); n == 1)
      result = c;
    else
      result = n < 0 && errno == EINTR ? other_signal : end_of_input;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

std::string marked(const std::string& prompt, char before, char after) {
  std::string out;
  for (size_t i = 0; i < prompt.size();) {
    if (prompt[i] != '\x1b') {
      out += prompt[i++];
      continue;
    }
    const size_t end = std::min(prompt.find('m', i), prompt.size() - 1) + 1;
    out += before + prompt.substr(i, end - i) + after;
    i = end;
  }
  return out;
}

Tab tab(const std::string& line, size_t cursor) {
  Tab step;
  const size_t first = line.find_first_not_of(" \t");
  if (first == line.npos || first >= cursor) {
    // Nothing to complete: indent.
    step.kind = Tab::Kind::replace;
    step.begin = cursor;
    step.text = "  ";
    return step;
  }
  Completions found = completer() ? completer()(line, cursor) : Completions();
  if (found.items.empty()) return step;
  std::string common = found.items.front().text;
  for (const Completion& c : found.items) {
    size_t n = 0;
    while (n < common.size() && n < c.text.size() && common[n] == c.text[n]) ++n;
    common.resize(n);
  }
  while (!common.empty() && (static_cast<unsigned char>(common.back()) & 0xC0) == 0x80) common.pop_back();
  if (common.size() > cursor - found.begin) {
    step.kind = Tab::Kind::replace;
    step.begin = found.begin;
    step.text = std::move(common);
  } else if (found.items.size() > 1) {
    step.kind = Tab::Kind::list;
    step.found = std::move(found);
  }
  return step;
}

size_t outdent(std::string_view line, size_t cursor) {
  return is_blank(line.substr(0, cursor)) ? std::min<size_t>(cursor, 2) : 0;
}

void list(const Completions& found) {
  const int width = LineEditor::size().first;
  write_out("\n");
  int longest = 0;
  for (const Completion& c : found.items) longest = std::max(longest, display_width(c.text));
  if (found.items.size() <= 12) {
    for (const Completion& c : found.items) {
      std::string line = c.text + std::string(static_cast<size_t>(longest - display_width(c.text) + 2), ' ') + c.detail;
      const auto most = static_cast<size_t>(std::max(width - 1, 8));
      if (line.size() > most) line.resize(most);
      while (!line.empty() && line.back() == ' ') line.pop_back();
      write_out(line + "\n");
    }
  } else {
    const int column = longest + 2, columns = std::max(1, width / column);
    const auto rows = (found.items.size() + static_cast<size_t>(columns) - 1) / static_cast<size_t>(columns);
    for (size_t r = 0; r < rows; ++r) {
      std::string line;
      for (size_t i = r; i < found.items.size(); i += rows) {
        const std::string& t = found.items[i].text;
        line += t + std::string(static_cast<size_t>(column - display_width(t)), ' ');
      }
      while (!line.empty() && line.back() == ' ') line.pop_back();
      write_out(line + "\n");
    }
  }
  flush_out();
}

}  // namespace line_backend

LineEditor::LineEditor(bool plain) : edits_(!plain && !line_backend::name().empty()) {
  static bool done = false;
  if (!edits_ || done) return;
  done = true;
  line_backend::set_up();
}

LineEditor::Result LineEditor::read(const std::string& prompt, std::string& line, const std::string& typed) {
  if (!edits_) return read_plain(prompt, line);
  clear_interrupt();
  bool got = false;
  {
    const InterruptRequests guard(InterruptRequests::Waiting::ends);
    got = line_backend::read(prompt, typed, line);
  }
  if (interrupt_requested()) {
    clear_interrupt();
    return Result::interrupted;
  }
  return got ? Result::line : Result::end;
}

bool LineEditor::set_painter(std::function<std::string(std::string_view)> paint) {
  return edits_ && line_backend::set_painter(std::move(paint));
}

void LineEditor::set_completer(std::function<Completions(std::string_view, size_t)> f) { completer() = std::move(f); }

void LineEditor::remember(const std::string& input) {
  if (edits_) line_backend::remember(input);
}

void LineEditor::forget_all() {
  if (edits_) line_backend::forget_all();
}

std::string LineEditor::backend() {
  const std::string name = line_backend::name();
  return name.empty() ? "plain lines" : name;
}

std::pair<int, int> LineEditor::size() {
  winsize w{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return {w.ws_col, w.ws_row};
  return {80, 24};
}

}  // namespace pxl
