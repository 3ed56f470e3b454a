// The backend for libedit, through its native interface: the readline emulation has no custom key bindings, which
// bracketed paste needs.
#if defined(PXL_EDITLINE)

#include <histedit.h>
#include <langinfo.h>
#include <unistd.h>

#include <algorithm>
#include <clocale>
#include <cstdlib>
#include <string>

#include "interpreter/repl/line_backend.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl::line_backend {
namespace {

EditLine* editor = nullptr;
HistoryW* past = nullptr;
std::string shown_prompt;

std::string narrow(const wchar_t* from, const wchar_t* to) {
  std::string out;
  for (; from != to; ++from) append_utf8(out, static_cast<char32_t>(*from));
  return out;
}

std::wstring widened(std::string_view text) {
  std::wstring out;
  for (size_t at = 0; at < text.size();) out += static_cast<wchar_t>(next_code_point(text, at));
  return out;
}

int drawn_columns = 0;  // width of the terminal when the prompt was drawn
int prompt_width = 0;

void handle(TerminalEvent event) {
  switch (event) {
    case TerminalEvent::nothing: return;
    case TerminalEvent::resized: {
      const LineInfoW* const line = el_wline(editor);
      clear_line(prompt_width, narrow(line->buffer, line->cursor), drawn_columns);
      drawn_columns = LineEditor::size().first;
      el_resize(editor);
      break;
    }
    case TerminalEvent::stop_requested:
      el_set(editor, EL_PREP_TERM, 0);
      stop_process();
      [[fallthrough]];
    case TerminalEvent::continued:
      el_set(editor, EL_PREP_TERM, 1);
      write_out_as_is("\r\x1b[J");
      flush_out();
      break;
  }
  el_set(editor, EL_REFRESH);
}

// Reads one byte from the terminal, or reports the end of the input or an interrupt.
int read_byte() {
  for (;;) {
    const int c = next_byte(STDIN_FILENO);
    if (c != other_signal) return c;
    handle(take_terminal_event());
  }
}

int get_key(EditLine*, wchar_t* c) {
  const int first = read_byte();
  // An interrupt ends the line.
  if (first < 0) return *c = L'\n', first == interrupted ? 1 : 0;
  // Ctrl-D also ends the input on a line that has only its indentation.
  if (const LineInfoW* line = el_wline(editor); first == end_of_transmission && line->cursor == line->lastchar)
    if (const std::string text = narrow(line->buffer, line->lastchar); is_blank(text))
      el_deletestr(editor, static_cast<int>(text.size()));
  std::string bytes(1, static_cast<char>(first));
  const size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (int next = 0; bytes.size() < length && (next = read_byte()) >= 0;) bytes += static_cast<char>(next);
  size_t at = 0;
  *c = static_cast<wchar_t>(next_code_point(bytes, at));
  return 1;
}

// Bracketed paste: the text between the two marks is inserted verbatim, including tabs and newlines.
unsigned char paste_key(EditLine* e, int) {
  const std::string_view end = "\x1b[201~";
  std::string text;
  while (!text.ends_with(end)) {
    const int c = read_byte();
    if (c < 0) break;
    text += c == '\r' ? '\n' : static_cast<char>(c);
  }
  if (text.ends_with(end)) text.resize(text.size() - end.size());
  const std::wstring wide = widened(text);
  return el_winsertstr(e, wide.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
}

unsigned char complete_key(EditLine* e, int) {
  const LineInfoW* info = el_wline(e);
  const std::string before = narrow(info->buffer, info->cursor);
  const Tab step = tab(before + narrow(info->cursor, info->lastchar), before.size());
  switch (step.kind) {
    case Tab::Kind::nothing: return CC_ERROR;
    case Tab::Kind::replace:
      el_deletestr(e, static_cast<int>(widened(std::string_view(before).substr(step.begin)).size()));
      el_winsertstr(e, widened(step.text).c_str());
      return CC_REFRESH;
    case Tab::Kind::list:
      list(step.found);
      el_set(e, EL_REFRESH);
      return CC_NORM;
  }
  return CC_ERROR;
}

unsigned char close_key(EditLine* e, int key) {
  const LineInfoW* info = el_wline(e);
  const std::string before = narrow(info->buffer, info->cursor);
  if (const size_t spaces = outdent(before, before.size()); spaces > 0) el_deletestr(e, static_cast<int>(spaces));
  const wchar_t typed[] = {static_cast<wchar_t>(key), 0};
  return el_winsertstr(e, typed) == 0 ? CC_REFRESH : CC_ERROR;
}

constexpr char escape_mark = '\001';

// Key bindings that readline has, and that libedit lacks or defines differently.
constexpr const char* keys[][2] = {
    {"\\t", "pxl-complete"},      {"\\e[200~", "pxl-paste"},
    {"^R", "em-inc-search-prev"}, {"}", "pxl-close"},
    {"]", "pxl-close"},           {")", "pxl-close"},
    {"^S", "em-inc-search-next"}, {"^W", "ed-delete-prev-word"},
    {"^U", "vi-kill-line-prev"},  {"\\e[1~", "ed-move-to-beg"},
    {"\\e[4~", "ed-move-to-end"}, {"\\e[7~", "ed-move-to-beg"},
    {"\\e[8~", "ed-move-to-end"}, {"\\e[H", "ed-move-to-beg"},
    {"\\e[F", "ed-move-to-end"},  {"\\e[3~", "ed-delete-next-char"},
    {"\\e[1;5C", "em-next-word"}, {"\\e[1;5D", "ed-prev-word"},
    {"\\e[5C", "em-next-word"},   {"\\e[5D", "ed-prev-word"},
};

}  // namespace

std::string name() { return "libedit"; }

void set_up() {
  // libedit encodes characters according to the locale.
  if (!std::setlocale(LC_CTYPE, "") || std::string_view(nl_langinfo(CODESET)) != "UTF-8")
    std::setlocale(LC_CTYPE, "C.UTF-8");
  editor = el_init("pxl", stdin, stdout, stderr);
  past = history_winit();
  HistEventW event;
  history_w(past, &event, H_SETSIZE, 10000);
  el_wset(editor, EL_HIST, history_w, past);
  el_set(editor, EL_SIGNAL, 0);
  el_set(editor, EL_EDITOR, "emacs");
  char* (*const prompt)(EditLine*) = [](EditLine*) { return shown_prompt.data(); };
  el_set(editor, EL_PROMPT_ESC, prompt, escape_mark);
  el_set(editor, EL_GETCFN, &get_key);
  el_set(editor, EL_ADDFN, "pxl-complete", "Completes, or lists what may follow here", &complete_key);
  el_set(editor, EL_ADDFN, "pxl-close", "Inserts a closing bracket, one level further left", &close_key);
  el_set(editor, EL_ADDFN, "pxl-paste", "Inserts a pasted text", &paste_key);
  for (const auto& [key, function] : keys) el_set(editor, EL_BIND, key, function, nullptr);
  el_source(editor, nullptr);
}

// libedit has no drawing hook: its refresh writes only changed characters, without attributes.
bool set_painter(std::function<std::string(std::string_view)>) { return false; }

bool read(const std::string& prompt, const std::string& typed, std::string& line) {
  shown_prompt = marked(prompt, escape_mark, escape_mark);
  prompt_width = visible_width(prompt);
  drawn_columns = LineEditor::size().first;
  write_out_as_is("\x1b[?2004h");
  flush_out();
  // Disable echo before the prompt is printed, so that keys typed early are not echoed by the terminal.
  el_set(editor, EL_PREP_TERM, 1);
  if (!typed.empty()) el_push(editor, typed.c_str());
  int n = 0;
  const wchar_t* got = el_wgets(editor, &n);
  write_out_as_is("\x1b[?2004l\r");
  flush_out();
  if (!got || n <= 0) return false;
  line = narrow(got, got + n);
  if (line.ends_with('\n')) line.pop_back();
  return true;
}

void remember(const std::string& input) {
  HistEventW event;
  history_w(past, &event, H_ENTER, widened(input).c_str());
}

void forget_all() {
  HistEventW event;
  history_w(past, &event, H_CLEAR);
}

}  // namespace pxl::line_backend

#endif
