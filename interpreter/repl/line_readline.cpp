// Backend for GNU readline.
#if defined(PXL_READLINE)

#include <readline/history.h>
#include <readline/readline.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "interpreter/repl/line_backend.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "runtime/base/source.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/base/wrap.hpp"

namespace pxl::line_backend {
namespace {

int complete_key(int, int) {
  const Tab step = tab(std::string(rl_line_buffer, static_cast<size_t>(rl_end)), static_cast<size_t>(rl_point));
  switch (step.kind) {
    case Tab::Kind::nothing: rl_ding(); break;
    case Tab::Kind::replace:
      rl_begin_undo_group();
      rl_delete_text(static_cast<int>(step.begin), rl_point);
      rl_point = static_cast<int>(step.begin);
      rl_insert_text(step.text.c_str());
      rl_end_undo_group();
      break;
    case Tab::Kind::list:
      list(step.found);
      rl_on_new_line();
      rl_forced_update_display();
      break;
  }
  return 0;
}

int close_key(int, int key) {
  if (const size_t spaces =
          outdent(std::string_view(rl_line_buffer, static_cast<size_t>(rl_end)), static_cast<size_t>(rl_point));
      spaces > 0) {
    rl_delete_text(rl_point - static_cast<int>(spaces), rl_point);
    rl_point -= static_cast<int>(spaces);
  }
  return rl_insert(1, key);
}

std::function<std::string(std::string_view)> painter;
std::string typed_text;
int prompt_width = 0;

// Readline draws the line without attributes and leaves the cursor where it belongs; then the same characters are
// written over it in colours, and the cursor is restored. Lines of which the place on the screen is uncertain stay as
// they are: characters that are not one column wide on several rows, control characters, more rows than the terminal.
void redisplay() {
  rl_redisplay();
  constexpr int max_painted = 2000;
  if (!painter || rl_end == 0 || rl_end > max_painted || rl_display_prompt != rl_prompt || RL_ISSTATE(RL_STATE_DONE) ||
      RL_ISSTATE(RL_STATE_ISEARCH) || RL_ISSTATE(RL_STATE_NSEARCH))
    return;
  const std::string_view line(rl_line_buffer, static_cast<size_t>(rl_end));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(line.begin(), line.end(), is_control)) return;
  const auto [columns, rows] = LineEditor::size();
  const int width = display_width(line), last_row = (prompt_width + width) / columns;
  const bool narrow =
      std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  if (prompt_width >= columns || last_row >= rows || (last_row > 0 && !narrow)) return;
  const int row = (prompt_width + display_width(line.substr(0, static_cast<size_t>(rl_point)))) / columns;
  std::string out =
      "\x1b"
      "7";
  if (row > 0) out += "\x1b[" + std::to_string(row) + "A";
  out += "\r\x1b[" + std::to_string(prompt_width) + "C" + painter(line) +
         "\x1b"
         "8";
  write_out(out);
  flush_out();
}

int insert_typed() { return rl_insert_text(typed_text.c_str()); }

// Reads a key. Readline's own function retries after an interrupt; this one ends the line.
int get_key(FILE* from) {
  for (;;) {
    const int c = next_byte(fileno(from));
    // Ctrl-D ends the input on a line that has its indentation only as well.
    if (c == end_of_transmission && is_blank({rl_line_buffer, static_cast<size_t>(rl_end)})) rl_replace_line("", 0);
    if (c >= 0) return c;
    if (c == interrupted) return '\n';
    if (c == end_of_input) return EOF;
    rl_check_signals();  // the window was resized
  }
}

}  // namespace

std::string name() { return std::string("readline ") + rl_library_version; }

void set_up() {
  rl_readline_name = "pxl";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 1;
  rl_getc_function = get_key;
  rl_initialize();
  rl_variable_bind("enable-bracketed-paste", "on");
  rl_variable_bind("blink-matching-paren", "on");
  rl_bind_key('\t', complete_key);
  for (const char bracket : {'}', ']', ')'}) rl_bind_key(bracket, close_key);
  rl_redisplay_function = redisplay;
  rl_startup_hook = insert_typed;
  stifle_history(10000);
}

bool set_painter(std::function<std::string(std::string_view)> paint) {
  painter = std::move(paint);
  return true;
}

bool read(const std::string& prompt, const std::string& typed, std::string& line) {
  typed_text = typed;
  prompt_width = visible_width(prompt);
  char* got = ::readline(marked(prompt, '\001', '\002').c_str());
  if (!got) return false;
  line = got;
  std::free(got);
  return true;
}

void remember(const std::string& input) { add_history(input.c_str()); }
void forget_all() { clear_history(); }

}  // namespace pxl::line_backend

#endif
