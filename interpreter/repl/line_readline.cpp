// The backend for GNU readline.
#if defined(PXL_READLINE)

#include <readline/history.h>
#include <readline/readline.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "interpreter/repl/line_backend.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/wrap.hpp"

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

int drawn_columns = 0;  // width of the terminal when the line was drawn

bool is_on(const char* variable) {
  const char* const value = rl_variable_value(variable);
  return value && std::string_view(value) == "on";
}

// Whether the first column of the line is known. Readline may scroll a line, or show its mode before the prompt.
bool knows_place() {
  const char* const up = rl_get_termcap("up");
  return up && *up && rl_display_prompt == rl_prompt && !is_on("horizontal-scroll-mode") &&
         !is_on("show-mode-in-prompt") && !RL_ISSTATE(RL_STATE_DONE | RL_STATE_ISEARCH | RL_STATE_NSEARCH);
}

// Readline draws the line without attributes and leaves the cursor where it belongs. Then this function writes the same
// characters over the line in colours, and restores the cursor. A line stays uncoloured if its position on the screen
// is uncertain. Causes are wide characters on several rows, control characters, bytes that readline escapes, and more
// rows than the terminal has.
void redisplay() {
  rl_redisplay();
  constexpr int max_painted = 2000;
  int rows = 0, columns = 0;
  rl_get_screen_size(&rows, &columns);
  drawn_columns = columns;
  if (!painter || rl_end == 0 || rl_end > max_painted || columns <= 0 || !knows_place()) return;
  const std::string_view line(rl_line_buffer, static_cast<size_t>(rl_end));
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (std::any_of(line.begin(), line.end(), is_control)) return;
  const bool narrow =
      std::all_of(line.begin(), line.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  const int last_row = place_after(prompt_width, line, columns).row;
  if (prompt_width >= columns || last_row >= rows || (!narrow && (last_row > 0 || MB_CUR_MAX == 1))) return;
  const int row = place_after(prompt_width, line.substr(0, static_cast<size_t>(rl_point)), columns).row;
  std::string out =
      "\x1b"
      "7";
  if (row > 0) out += "\x1b[" + std::to_string(row) + "A";
  out += "\r\x1b[" + std::to_string(prompt_width) + "C" + painter(line) +
         "\x1b"
         "8";
  write_out_as_is(out);
  flush_out();
}

void draw_again() {
  rl_on_new_line();
  rl_forced_update_display();
}

void handle(TerminalEvent event) {
  switch (event) {
    case TerminalEvent::nothing: break;
    case TerminalEvent::resized:
      if (const std::string_view line(rl_line_buffer, static_cast<size_t>(rl_point)); drawn_columns > 0)
        clear_line(prompt_width, line, drawn_columns);
      rl_reset_screen_size();
      draw_again();
      break;
    case TerminalEvent::stop_requested:
      rl_deprep_term_function();
      stop_process();
      [[fallthrough]];
    case TerminalEvent::continued:
      rl_prep_term_function(1);
      rl_reset_screen_size();
      draw_again();
      break;
  }
}

int insert_typed() { return rl_insert_text(typed_text.c_str()); }

// Reads a key. Readline's own function retries after an interrupt; this function ends the line.
int get_key(FILE* from) {
  for (;;) {
    const int c = next_byte(fileno(from));
    // Ctrl-D also ends the input on a line that has only its indentation.
    if (c == end_of_transmission && is_blank({rl_line_buffer, static_cast<size_t>(rl_end)})) rl_replace_line("", 0);
    if (c >= 0) return c;
    if (c == interrupted) return '\n';
    if (c == end_of_input) return EOF;
    handle(take_terminal_event());
  }
}

}  // namespace

std::string name() { return std::string("readline ") + rl_library_version; }

void set_up() {
  rl_readline_name = "pxl";
  rl_catch_signals = 0;
  rl_catch_sigwinch = 0;
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
