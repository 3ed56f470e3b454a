#include "interpreter/repl/line_editor.hpp"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "interpreter/tools/theme.hpp"
#include "runtime/base/interrupt.hpp"
#include "runtime/base/source.hpp"

#if defined(PXL_READLINE)
#include <readline/history.h>
#include <readline/readline.h>
#elif defined(PXL_EDITLINE)
#include <editline/readline.h>
#endif

namespace pxl {
namespace {

std::function<Completions(std::string_view, size_t)>& completer() {
  static std::function<Completions(std::string_view, size_t)> f;
  return f;
}

void on_interrupt(int) { request_interrupt(); }

/// Lets an interrupt end a blocking read while it lives; elsewhere reads go on.
struct InterruptibleReads {
  struct sigaction old {};
  InterruptibleReads() {
    struct sigaction action {};
    action.sa_handler = on_interrupt;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, &old);
  }
  ~InterruptibleReads() { sigaction(SIGINT, &old, nullptr); }
  InterruptibleReads(const InterruptibleReads&) = delete;
  InterruptibleReads& operator=(const InterruptibleReads&) = delete;
};

LineEditor::Result read_plain(const std::string& prompt, std::string& line) {
  std::fwrite(prompt.data(), 1, prompt.size(), stdout);
  std::fflush(stdout);
  line.clear();
  const InterruptibleReads guard;
  for (char c;;) {
    const ssize_t n = ::read(STDIN_FILENO, &c, 1);
    if (n < 0 && errno == EINTR && interrupt_requested()) return LineEditor::Result::interrupted;
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return line.empty() ? LineEditor::Result::end : LineEditor::Result::line;
    if (c == '\n') return LineEditor::Result::line;
    line += c;
  }
}

#if defined(PXL_READLINE) || defined(PXL_EDITLINE)
/// Escapes of a prompt take no columns; readline wants to be told.
std::string marked(const std::string& prompt) {
  std::string out;
  for (size_t i = 0; i < prompt.size();) {
    if (prompt[i] != '\x1b') {
      out += prompt[i++];
      continue;
    }
    const size_t end = std::min(prompt.find('m', i), prompt.size() - 1) + 1;
    out += '\001' + prompt.substr(i, end - i) + '\002';
    i = end;
  }
  return out;
}
#endif

#if defined(PXL_READLINE)

/// What was matched, in columns; with details where there are few.
void list(const Completions& found) {
  const int width = LineEditor::size().first;
  std::fputc('\n', stdout);
  int longest = 0;
  for (const Completion& c : found.items) longest = std::max(longest, display_width(c.text));
  if (found.items.size() <= 12) {
    for (const Completion& c : found.items) {
      std::string line = c.text + std::string(static_cast<size_t>(longest - display_width(c.text) + 2), ' ') + c.detail;
      const auto most = static_cast<size_t>(std::max(width - 1, 8));
      if (line.size() > most) line.resize(most);
      while (!line.empty() && line.back() == ' ') line.pop_back();
      std::printf("%s\n", line.c_str());
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
      std::printf("%s\n", line.c_str());
    }
  }
  std::fflush(stdout);
}

int complete_key(int, int) {
  const auto point = static_cast<size_t>(rl_point);
  const std::string line(rl_line_buffer, static_cast<size_t>(rl_end));
  if (line.find_first_not_of(" \t") == line.npos || line.find_first_not_of(" \t") >= point) {
    // Nothing to complete: indentation.
    rl_insert_text(const_cast<char*>("  "));
    return 0;
  }
  const Completions found = completer() ? completer()(line, point) : Completions();
  if (found.items.empty()) {
    rl_ding();
    return 0;
  }
  std::string common = found.items.front().text;
  for (const Completion& c : found.items) {
    size_t n = 0;
    while (n < common.size() && n < c.text.size() && common[n] == c.text[n]) ++n;
    common.resize(n);
  }
  while (!common.empty() && (static_cast<unsigned char>(common.back()) & 0xC0) == 0x80) common.pop_back();
  const std::string there = line.substr(found.begin, point - found.begin);
  if (common.size() > there.size()) {
    rl_begin_undo_group();
    rl_delete_text(static_cast<int>(found.begin), rl_point);
    rl_point = static_cast<int>(found.begin);
    rl_insert_text(common.c_str());
    rl_end_undo_group();
    return 0;
  }
  if (found.items.size() > 1) {
    list(found);
    rl_on_new_line();
    rl_forced_update_display();
  }
  return 0;
}

// Reads a key. Readline's own reader goes on waiting when an interrupt comes; here that ends the line.
int get_key(FILE* from) {
  for (;;) {
    unsigned char c = 0;
    const ssize_t n = ::read(fileno(from), &c, 1);
    if (n == 1) return c;
    if (n == 0 || errno != EINTR) return EOF;
    if (interrupt_requested()) return '\n';
    rl_check_signals();  // the window's size
  }
}

void set_up() {
  static bool done = false;
  if (done) return;
  done = true;
  rl_readline_name = "pxl";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 1;
  rl_getc_function = get_key;
  rl_initialize();
  rl_variable_bind("enable-bracketed-paste", "on");
  rl_variable_bind("blink-matching-paren", "on");
  rl_bind_key('\t', complete_key);
  stifle_history(10000);
}

#elif defined(PXL_EDITLINE)

char** matches(const char*, int, int end) {
  rl_attempted_completion_over = 1;
  const Completions found = completer() ? completer()(rl_line_buffer, static_cast<size_t>(end)) : Completions();
  if (found.items.empty()) return nullptr;
  std::string common = found.items.front().text;
  for (const Completion& c : found.items) {
    size_t n = 0;
    while (n < common.size() && n < c.text.size() && common[n] == c.text[n]) ++n;
    common.resize(n);
  }
  auto** out = static_cast<char**>(std::malloc((found.items.size() + 2) * sizeof(char*)));
  out[0] = strdup(common.c_str());
  size_t i = 1;
  if (found.items.size() > 1)
    for (const Completion& c : found.items) out[i++] = strdup(c.text.c_str());
  out[i] = nullptr;
  return out;
}

void set_up() {
  static bool done = false;
  if (done) return;
  done = true;
  rl_readline_name = const_cast<char*>("pxl");
  rl_initialize();
  rl_attempted_completion_function = matches;
  rl_completer_word_break_characters = const_cast<char*>(" \t\n\"'()[]{},.:=+-*/@<>");
  rl_completion_append_character = '\0';
  using_history();
}

#endif

}  // namespace

LineEditor::LineEditor(bool plain) : edits_(!plain && backend() != "plain lines") {
#if defined(PXL_READLINE) || defined(PXL_EDITLINE)
  if (edits_) set_up();
#endif
}

LineEditor::Result LineEditor::read(const std::string& prompt, std::string& line) {
  if (!edits_) return read_plain(prompt, line);
#if defined(PXL_READLINE) || defined(PXL_EDITLINE)
  clear_interrupt();
  char* got = nullptr;
  {
    const InterruptibleReads guard;
    got = ::readline(marked(prompt).c_str());
  }
  if (interrupt_requested()) {
    clear_interrupt();
    std::free(got);
    return Result::interrupted;
  }
  if (!got) return Result::end;
  line = got;
  std::free(got);
  return Result::line;
#else
  return Result::end;
#endif
}

void LineEditor::set_completer(std::function<Completions(std::string_view, size_t)> f) { completer() = std::move(f); }

void LineEditor::remember([[maybe_unused]] const std::string& input) {
#if defined(PXL_READLINE) || defined(PXL_EDITLINE)
  if (edits_) add_history(input.c_str());
#endif
}

void LineEditor::forget_all() {
#if defined(PXL_READLINE) || defined(PXL_EDITLINE)
  if (edits_) clear_history();
#endif
}

std::string_view LineEditor::backend() {
#if defined(PXL_READLINE)
  static const std::string name = std::string("readline ") + rl_library_version;
  return name;
#elif defined(PXL_EDITLINE)
  return "libedit";
#else
  return "plain lines";
#endif
}

std::pair<int, int> LineEditor::size() {
  winsize w{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0) return {w.ws_col, w.ws_row};
  return {80, 24};
}

}  // namespace pxl
