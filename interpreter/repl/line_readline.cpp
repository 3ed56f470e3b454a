// Backend for GNU readline.
#if defined(PXL_READLINE)

#include <readline/history.h>
#include <readline/readline.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "interpreter/repl/line_backend.hpp"

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

// Reads a key. Readline's own function retries after an interrupt; this one ends the line.
int get_key(FILE* from) {
  for (;;) {
    const int c = next_byte(fileno(from));
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
  stifle_history(10000);
}

bool read(const std::string& prompt, std::string& line) {
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
