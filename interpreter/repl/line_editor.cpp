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
#include <iterator>
#include <string>
#include <utility>

#include "interpreter/repl/line_backend.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"
#include "runtime/base/never_destroyed.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl {
namespace {

std::function<Completions(std::string_view, size_t)>& completer() {
  static auto& f = never_destroyed(std::function<Completions(std::string_view, size_t)>());
  return f;
}

/// Moves the cursor to the first column of an empty row, where the prompt begins. Text without a newline stays on its
/// row. Keys typed while the program ran are echoed in this row, and the editor draws them again.
void begin_row() {
  if (line_is_unfinished()) write_out("\n");
  const char* const terminal = std::getenv("TERM");
  const bool clears = terminal && *terminal && std::strcmp(terminal, "dumb") != 0;
  write_out_as_is(clears ? "\r\x1b[K" : "\r");
  flush_out();
}

LineEditor::Result read_plain(const std::string& prompt, std::string& line) {
  write_out_as_is(prompt);
  flush_out();
  // Bytes read before an interrupt from an input that is not a terminal. A terminal discards a typed line, a pipe does
  // not.
  static auto& begun = never_destroyed(std::string());
  line = std::exchange(begun, {});
  const InterruptRequests guard(InterruptRequests::Waiting::ends);
  for (;;) {
    const int c = line_backend::next_byte(STDIN_FILENO);
    if (c == line_backend::other_signal) {
      if (line_backend::take_terminal_event() == line_backend::TerminalEvent::stop_requested)
        line_backend::stop_process();
      continue;
    }
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

namespace {

/// Bytes that arrived before the terminal's answer to a query.
std::string typed_ahead;

volatile sig_atomic_t resize_seen = 0, stop_seen = 0, continue_seen = 0;

constexpr int terminal_signals[] = {SIGWINCH, SIGTSTP, SIGCONT};

void note_signal(int number) {
  if (number == SIGWINCH) resize_seen = 1;
  if (number == SIGTSTP) stop_seen = 1;
  if (number == SIGCONT) continue_seen = 1;
}

struct sigaction noting() {
  struct sigaction action {};
  action.sa_handler = note_signal;
  sigemptyset(&action.sa_mask);
  return action;
}

/// Records the terminal's signals during its lifetime. A stop signal that the parent ignores stays ignored.
class NotedSignals {
 public:
  NotedSignals() {
    const struct sigaction action = noting();
    for (size_t i = 0; i < std::size(terminal_signals); ++i) {
      sigaction(terminal_signals[i], nullptr, &old_[i]);
      if (old_[i].sa_handler != SIG_IGN) sigaction(terminal_signals[i], &action, nullptr);
    }
  }
  ~NotedSignals() {
    for (size_t i = 0; i < std::size(terminal_signals); ++i) sigaction(terminal_signals[i], &old_[i], nullptr);
  }
  NotedSignals(const NotedSignals&) = delete;
  NotedSignals& operator=(const NotedSignals&) = delete;

 private:
  struct sigaction old_[std::size(terminal_signals)] = {};
};

/// Removes an answer `ESC [ row ; column R` from `bytes` and returns its column; 0 if there is none.
int take_answer(std::string& bytes) {
  for (size_t begin = bytes.find("\x1b["); begin != bytes.npos; begin = bytes.find("\x1b[", begin + 1)) {
    const size_t end = bytes.find_first_not_of("0123456789;", begin + 2);
    const size_t middle = bytes.find(';', begin);
    if (end == bytes.npos || bytes[end] != 'R' || middle >= end) continue;
    const int column = std::atoi(bytes.c_str() + middle + 1);
    bytes.erase(begin, end + 1 - begin);
    return column;
  }
  return 0;
}

/// The cursor's column, from 1, as the terminal reports it. If the terminal does not answer, the result is 0, and the
/// terminal is not asked again.
int reported_column() {
  constexpr int patience_milliseconds = 2000;
  static bool answers = true;
  if (!std::exchange(answers, false)) return 0;
  write_out_as_is("\x1b[6n");
  flush_out();
  for (int column = 0;;) {
    pollfd wait{STDIN_FILENO, POLLIN, 0};
    if (::poll(&wait, 1, patience_milliseconds) <= 0) return 0;
    char bytes[256];
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got <= 0) return 0;
    typed_ahead.append(bytes, static_cast<size_t>(got));
    if ((column = take_answer(typed_ahead)) > 0) {
      answers = true;
      return column;
    }
  }
}

}  // namespace

TerminalEvent take_terminal_event() {
  if (std::exchange(stop_seen, 0)) return TerminalEvent::stop_requested;
  if (std::exchange(continue_seen, 0)) return TerminalEvent::continued;
  if (std::exchange(resize_seen, 0)) return TerminalEvent::resized;
  return TerminalEvent::nothing;
}

void stop_process() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  sigaction(SIGTSTP, &action, nullptr);
  raise(SIGTSTP);
  action = noting();
  sigaction(SIGTSTP, &action, nullptr);
  continue_seen = 0;
}

Place place_after(int prompt_width, std::string_view text, int columns) {
  constexpr int tab_columns = 8;
  Place at{prompt_width / columns, prompt_width % columns};
  for (size_t i = 0; i < text.size();) {
    const size_t begin = i;
    const char32_t c = next_code_point(text, i);
    if (c == '\n') {
      at = {at.row + 1, 0};
      continue;
    }
    const int width = c == '\t'               ? tab_columns - at.column % tab_columns
                      : c < 0x20 || c == 0x7F ? 2
                                              : display_width(text.substr(begin, i - begin));
    at.column += width;
    // A wide character that does not fit begins the next row.
    if (at.column > columns) at = {at.row + 1, width};
    if (at.column == columns) at = {at.row + 1, 0};
  }
  return at;
}

void clear_line(int prompt_width, std::string_view before_cursor, int old_columns) {
  const int columns = LineEditor::size().first;
  const Place kept = place_after(prompt_width, before_cursor, old_columns);
  const Place wrapped = place_after(prompt_width, before_cursor, columns);
  int rows = kept.row;
  if (kept.row != wrapped.row) {
    const int column = reported_column() - 1;
    if (column == std::min(kept.column, columns - 1))
      rows = column == wrapped.column ? std::min(kept.row, wrapped.row) : kept.row;
    else if (column >= 0)
      rows = wrapped.row;
  }
  if (rows > 0) write_out_as_is("\x1b[" + std::to_string(rows) + "A");
  // Clears the first row separately, since some terminals save a copy of a screen that is cleared from its first row
  // on.
  write_out_as_is(
      "\r\x1b[K\x1b"
      "7\x1b[B\x1b[J\x1b"
      "8");
  flush_out();
}

int next_byte(int fd) {
  if (fd == STDIN_FILENO && !typed_ahead.empty()) {
    const auto c = static_cast<unsigned char>(typed_ahead.front());
    typed_ahead.erase(0, 1);
    return c;
  }
  sigset_t held, before;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  for (const int number : terminal_signals) sigaddset(&held, number);
  pthread_sigmask(SIG_BLOCK, &held, &before);
  int result = interrupted;
  if (stop_seen || continue_seen || resize_seen) {
    result = other_signal;
  } else if (!interrupt_requested()) {
    pollfd wait{fd, POLLIN, 0};
    unsigned char c = 0;
    if (ppoll(&wait, 1, nullptr, &before) < 0)
      result = errno != EINTR ? end_of_input : interrupt_requested() ? interrupted : other_signal;
    else if (const ssize_t n = ::read(fd, &c, 1); n == 1)
      result = c;
    else
      result = n < 0 && (errno == EINTR || errno == EAGAIN) ? other_signal : end_of_input;
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
  begin_row();
  bool got = false;
  {
    const InterruptRequests guard(InterruptRequests::Waiting::ends);
    const line_backend::NotedSignals signals;
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
