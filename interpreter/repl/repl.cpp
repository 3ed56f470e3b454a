#include "interpreter/repl/repl.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "interpreter/commands/commands.hpp"
#include "interpreter/graphs/graph_objects.hpp"
#include "interpreter/tools/help/help.hpp"
#include "interpreter/tools/pager.hpp"
#include "interpreter/tools/theme.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"
#include "runtime/base/text/text.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"

namespace pxl {
namespace {

EngineOptions engine_options(const ReplOptions& options) {
  EngineOptions o;
  o.options = options.values;
  if (options.only_after_error) o.program_name = options.files.front();
  o.out = [](std::string_view text) { write_out_as_is(text); };
  o.err = [](std::string_view text) { write_err_as_is(wrapped_message(text)); };
  o.quiet = options.quiet;
  o.terminal = isatty(STDERR_FILENO);
  return o;
}

constexpr std::string_view first_prompt = "pxl> ", next_prompt = "...> ";

/// Length in bytes of the prompt at the beginning of a copied line: "[3] pxl> ", "pxl> "; 0 without a prompt.
size_t prompt_length(std::string_view line, bool first) {
  size_t at = 0;
  if (line.starts_with('[')) {
    at = std::min(line.find_first_not_of("0123456789", 1), line.size());
    if (at == 1 || !line.substr(at).starts_with("] ")) return 0;
    at += 2;
  }
  const std::string_view rest = line.substr(at);
  if (rest.starts_with(first_prompt) || (!first && rest.starts_with(next_prompt))) return at + first_prompt.size();
  return 0;
}

/// Extracts the inputs after the prompts of a copied transcript.
std::string without_prompts(const std::string& text) {
  if (prompt_length(text, true) == 0) return text;
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = std::string_view(text).substr(at, end - at);
    if (const size_t length = prompt_length(line, false)) out += std::string(line.substr(length)) + "\n";
    at = end + 1;
  }
  return out;
}

}  // namespace

Repl::Repl(const ReplOptions& options)
    : options_(options),
      terminal_(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)),
      colour_(terminal_ && wants_colour(STDOUT_FILENO)),
      error_colour_(wants_colour(STDERR_FILENO)),
      engine_(engine_options(options)),
      history_(terminal_ ? history_path() : std::string()),
      editor_(!terminal_) {}

void Repl::print(std::string_view text) {
  write_out(text);
  if (!text.empty() && text.back() != '\n') write_out("\n");
  flush_out();
}
void Repl::print_schedule(std::string_view text) {
  if (!colour_) return print(text);
  write_out_as_is(colour_schedule(text) + (text.ends_with('\n') ? "" : "\n"));
  flush_out();
}
void Repl::print_long(std::string_view text) {
  write_paged(text.ends_with('\n') ? std::string(text) : std::string(text) + "\n");
  flush_out();
}
void Repl::print_error(std::string_view text) {
  flush_out();
  write_err_as_is(wrapped_message((error_colour_ ? styled("error: ", "1;31") : "error: ") + cleaned(text) + "\n"));
}

std::string Repl::prompt(std::string_view text) const {
  return colour_ ? styled(text.substr(0, text.size() - 1), "1;34") + " " : std::string(text);
}

void Repl::report(const Outcome& o) {
  flush_out();
  for (const Diagnostic& d : o.diagnostics) write_err_as_is(render(d, error_colour_, message_width()));
  if (!o.diagnostics.empty()) last_error = code_of(o.diagnostics.front());
  // A script on standard input returns 1 if an input failed, although the other inputs ran.
  if (!terminal_ && (o.kind == Outcome::Kind::failed || o.kind == Outcome::Kind::interrupted)) status_ = 1;
  if (o.kind == Outcome::Kind::interrupted)
    print_err("\n{}", wrapped_message(fmt::format("interrupted{}{}\n", o.left.empty() ? "" : ": ", o.left)));
  else if (!o.left.empty())
    print_err("{}", wrapped_message(o.left + "\n"));
  if (o.kind == Outcome::Kind::exited) {
    done = true;
    status_ = o.exit_status;
  }
  if (o.shown.empty()) return;
  if (o.value.as<GraphObject>() || o.value.type_name() == "gradient graph")
    print_schedule(o.shown);
  else
    print(o.shown);
}

Console::Read Repl::read(std::string_view p, std::string& line) {
  switch (editor_.read(prompt(p), line)) {
    case LineEditor::Result::line: return Read::line;
    case LineEditor::Result::end: return Read::end;
    case LineEditor::Result::interrupted: return Read::interrupted;
  }
  return Read::end;
}

void Repl::handle(const std::string& given) {
  const std::string text = without_prompts(given);
  const std::string_view line = trimmed(text);
  if (line.empty()) return;
  std::optional<std::string> asked = question(line);
  if (line.front() != ':' && !asked) return report(engine_.submit(text));
  try {
    run_command(*this, asked ? "help " + *asked : std::string(line.substr(1)));
  } catch (const Error& e) {
    flush_out();
    for (const Diagnostic& d : e.all()) write_err_as_is(render(d, error_colour_, message_width()));
  } catch (const Interrupted&) {
    print_error("interrupted");
  } catch (const std::exception& e) {
    print_error(e.what());
  }
}

Completions Repl::complete(std::string_view line, size_t cursor) {
  const size_t from = line.find_first_not_of(" \t");
  if (pending_.empty() && from != line.npos && (line[from] == ':' || line[from] == '?'))
    return complete_command(*this, line, cursor);
  const std::string text = pending_ + std::string(line);
  Completions found = engine_.complete(text, pending_.size() + cursor);
  // Text of earlier lines cannot be replaced.
  if (found.begin < pending_.size()) return {cursor, cursor, {}};
  found.begin -= pending_.size();
  found.end -= pending_.size();
  return found;
}

// Errors name the input by the same number: "[3]:1:5".
std::string Repl::input_prompt() const {
  return fmt::format("[{}] {}", engine_.next_number(), pending_.empty() ? first_prompt : next_prompt);
}

// Reprints the line that was just entered, coloured, in place.
void Repl::echo(std::string_view shown_prompt, std::string_view line) const {
  const auto [columns, rows] = LineEditor::size();
  if (!colour_ || line.empty() || line.find('\n') != line.npos || line[0] == ':') return;
  const int used = (display_width(shown_prompt) + display_width(line)) / columns + 1;
  if (used >= rows) return;
  write_out_as_is(fmt::format("\x1b[{}A\r{}{}\x1b[K\n", used, prompt(shown_prompt), colour_source(line)));
  flush_out();
}

int Repl::run() {
  const InterruptRequests interrupts(InterruptRequests::Waiting::restarts);
  for (const std::string& input : history_.inputs()) editor_.remember(input);
  editor_.set_completer([this](std::string_view line, size_t cursor) { return complete(line, cursor); });
  const bool paints = colour_ && editor_.set_painter([](std::string_view line) {
    return line.starts_with(':') ? std::string(line) : colour_source(line);
  });
  if (terminal_ && !options_.quiet)
    print(fmt::format("pxl {}  :help for help, :tour for a tour, Ctrl-D to exit", options_.version));
  std::error_code ignored;
  if (const std::string init = options_.init ? init_path() : std::string();
      !init.empty() && std::filesystem::exists(init, ignored))
    load(init);
  for (const std::string& file : options_.files) load(file);
  if (options_.only_after_error && loaded.size() >= options_.files.size()) return status_;
  loaded = options_.files;
  while (!done) {
    std::string line;
    const std::string p = input_prompt();
    const LineEditor::Result got =
        editor_.read(terminal_ ? prompt(p) : std::string(), line,
                     terminal_ && !pending_.empty() ? Engine::indentation(pending_) : std::string());
    if (got == LineEditor::Result::interrupted) {
      if (terminal_) print("^C");
      clear_interrupt();
      pending_.clear();
      continue;
    }
    if (got == LineEditor::Result::end) {
      if (pending_.empty()) {
        if (terminal_) print("");
        if (terminal_) write_out("\n");
        break;
      }
      if (!terminal_) {
        // The end of the file ends an incomplete input.
        handle(pending_);
        break;
      }
      print("");
      write_out("\n");
      pending_.clear();
      continue;
    }
    if (terminal_ && editor_.edits() && !paints) echo(p, line);
    const std::string_view bare = trimmed(line);
    const bool alone = pending_.empty() && !bare.empty() && (bare.front() == ':' || question(bare));
    std::string text = pending_ + line;
    if (!alone && Engine::status(without_prompts(text + "\n")) == Completeness::incomplete) {
      pending_ = text + "\n";
      continue;
    }
    pending_.clear();
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
    if (!trimmed(text).empty() && history_.add(text)) editor_.remember(text);
    handle(text);
  }
  return status_;
}

}  // namespace pxl
