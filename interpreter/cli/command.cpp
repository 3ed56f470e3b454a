// Dispatches commands, and has their shared parts: reading sources, reporting errors, exit statuses.
#include "interpreter/cli/command.hpp"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/version.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/repl/line_editor.hpp"
#include "interpreter/tools/pager.hpp"
#include "interpreter/values/exit_request.hpp"
#include "interpreter/values/host.hpp"
#include "interpreter/values/ref.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/files/input_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/limits/signals.hpp"
#include "runtime/base/limits/stack.hpp"
#include "runtime/base/settings.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/wrap.hpp"
#include "runtime/kernels/libraries.hpp"

namespace pxl::cli {

namespace {

const Command* const table[] = {
#define PXL_COMMAND(name) &name##_command,
#include "interpreter/cli/commands.inc"
#undef PXL_COMMAND
};

bool json_output = false;
std::string_view last_kind;    ///< kind of the last reported error
bool told_unwritable = false;  ///< standard output cannot be written

Error unwritable(int reason) {
  told_unwritable = true;
  return run_error(fmt::format("cannot write standard output: {}", std::strerror(reason))).as(codes::write);
}

constexpr ExitRow exits[] = {
    {exit_ok, "Success."},
    {exit_failed, "The program failed while running; `fmt --check` found files that would change."},
    {exit_usage, "Wrong usage."},
    {exit_refused, "The text was refused."},
    {exit_unreadable, "A file cannot be read."},
    {exit_internal, "An internal error: please report it."},
    {exit_interrupted, "Interrupted."},
};

constexpr std::pair<std::string_view, std::string_view> common_environment[] = {
    {"NO_COLOR", "No colours in messages."},
    {"NO_PAGER", "No pager for long texts."},
    {"PAGER", "The pager of long texts on a terminal; by default less."},
};

// The first Ctrl-C requests the running work to stop. If the work has not stopped, a second Ctrl-C ends the process.
void on_interrupt(int) {
  if (interrupt_requested()) _exit(exit_interrupted);
  request_interrupt();
}

int status_of(Fault fault) {
  switch (fault) {
    case Fault::refused: return exit_refused;
    case Fault::failed: return exit_failed;
    case Fault::unreadable: return exit_unreadable;
    case Fault::usage: return exit_usage;
    case Fault::internal: return exit_internal;
  }
  return exit_internal;
}

// `pxl run FILE --help` asks the script for help.
bool asks_for_help(const Command& c, const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments) {
    if (word == "--help" || word == "-h") return true;
    if (word == "--" || &c == &run_command) break;
  }
  return false;
}

int dispatch(std::vector<std::string> arguments) {
  CommonFlags flags;
  take_leading_flags(flags, arguments);
  if (arguments.empty()) {
    if (!isatty(STDIN_FILENO)) return run_script(flags, {"-"});
    return repl_command.run(flags, {});
  }
  const std::string& first = arguments.front();
  if (first == "--") return run_script(flags, arguments);
  if (first == "-i" || first == "--no-init") {
    if (first == "-i") arguments.erase(arguments.begin());
    return repl_command.run(flags, arguments);
  }
  if (first == "--help" || first == "-h") {
    write_paged(help_text());
    return exit_ok;
  }
  if (first == "--version") {
    print_version(flags);
    return exit_ok;
  }
  for (const Command* c : table) {
    if (first != c->name) continue;
    const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
    if (asks_for_help(*c, rest)) {
      write_paged(help_text(*c));
      return exit_ok;
    }
    return c->run(flags, rest);
  }
  if (first.size() > 1 && first[0] == '-' && first != "-e") {
    throw Error(fmt::format("unknown flag `{}`", first), {"`pxl --help` lists the flags"}, Fault::usage);
  }
  // A word that is not a file is treated as a mistyped command.
  std::error_code ignored;
  if (first[0] != '-' && first.find_first_of("./") == first.npos && !std::filesystem::exists(first, ignored)) {
    std::vector<std::string> names;
    for (const Command* c : table) names.emplace_back(c->name);
    const auto near = nearest(first, names);
    throw Error(fmt::format("unknown command: `{}`{}", first, near ? fmt::format("; did you mean `{}`?", *near) : ""),
                {"`pxl help` lists the commands; a script is named by its file: `pxl net.pxl`"}, Fault::usage);
  }
  return run_script(flags, arguments);
}

}  // namespace

std::span<const Command* const> commands() { return table; }
std::span<const ExitRow> exit_rows() { return exits; }
std::vector<std::pair<std::string_view, std::string_view>> environment_rows() {
  std::vector<std::pair<std::string_view, std::string_view>> rows(std::begin(common_environment),
                                                                  std::end(common_environment));
  for (const SettingRow& r : settings_table()) rows.emplace_back(r.name, r.doc);
  return rows;
}

bool use_json(const CommonFlags& flags, const Invocation& call) {
  json_output |= flags.json || call.has(json_flag.name);
  return json_output;
}

int report(const Error& error) {
  std::vector<Diagnostic> all = error.all();
  add_implied_fixes(all);
  if (json_output)
    for (const Diagnostic& d : all) emit(diagnostic_event(d));
  const bool colour = wants_colour(STDERR_FILENO);
  for (const Diagnostic& d : all) write_err_as_is(render(d, colour, message_width()));
  if (error.first().fault != Fault::usage && error.first().fault != Fault::internal) last_kind = code_of(error.first());
  if (error.first().fault == Fault::internal) {
    print_err("  this is a fault of pxl, not of the program: please report it with the text that caused it\n");
  }
  return status_of(error.first().fault);
}

Outcome outcome_of(const std::function<int()>& body) {
  try {
    return {body()};
  } catch (const Error& e) {
    return {status_of(e.first().fault), e};
  } catch (const Interrupted&) {
    return {exit_interrupted, {}, true};
  } catch (const ExitRequest& e) {
    return {e.code};
  } catch (const Unevaluated&) {
    return {exit_failed, run_error("this needs the elements of an array, which only a run computes")};
  } catch (const OverBudget& over) {
    return {exit_failed, run_error(beyond("this", over))};
  } catch (const std::bad_alloc&) {
    return {exit_failed, run_error("out of memory")};
  } catch (const std::exception& e) {
    return {exit_internal, Error(fmt::format("internal error: {}", e.what()), {}, Fault::internal)};
  }
}

int report(const Outcome& outcome) {
  if (outcome.error) return report(*outcome.error);
  if (outcome.interrupted) print_err("interrupted\n");
  return outcome.status;
}

int guarded(const std::function<int()>& body) { return report(outcome_of(body)); }

namespace {

int run_and_report(const std::vector<std::string>& arguments) {
  prepare_standard_streams();
  handle_interrupts(on_interrupt);
  signal(SIGPIPE, SIG_DFL);
  int status = guarded([&] {
    for (const std::string& sentence : unknown_settings()) write_err_as_is(wrapped_message("note: " + sentence) + "\n");
    check_settings();
    return dispatch(arguments);
  });
  if (!flush_out()) {
    const int reason = out_error();
    if (!told_unwritable) report(unwritable(reason != 0 ? reason : EINTR));
    if (status == exit_ok) status = exit_failed;
  }
  // Prints the hint once, for users who do not know what the brackets mean.
  if (!last_kind.empty() && isatty(STDERR_FILENO))
    write_err_as_is(fmt::format("{}{}{}\n", wants_colour(STDERR_FILENO) ? "\x1b[2m" : "",
                                wrapped_message(fmt::format("pxl explain {} tells more", last_kind)),
                                wants_colour(STDERR_FILENO) ? "\x1b[0m" : ""));
  return status;
}

}  // namespace

int run_command_line(const std::vector<std::string>& arguments) {
  prepare_libraries();
  counts_are_shared = false;  // the language server, which has threads, sets true
  try {
    int status = exit_ok;
    run_with_stack([&] { status = run_and_report(arguments); });
    return status;
  } catch (const Error& e) {
    return report(e);
  } catch (...) {
    // The message itself could not be allocated.
    write_err("error: out of memory [memory]\n");
    return exit_failed;
  }
}

const SourceFile& read_source(const std::string& path) {
  std::string why;
  std::optional<std::string> text = read_program(path, why);
  if (!text)
    throw Error(fmt::format("cannot read {}: {}", path == "-" ? "standard input" : "`" + path + "`", why), {},
                Fault::unreadable);
  return add_source(path == "-" ? "<stdin>" : path, *std::move(text));
}

InterpreterOptions interpreter_options(const CommonFlags& flags) {
  InterpreterOptions options;
  options.out = [json = flags.json](std::string_view text) {
    if (json)
      emit({{"event", "output"}, {"text", text}});
    else if (!write_out_as_is(text))
      throw unwritable(out_error());
  };
  options.err = [](std::string_view text) { write_err_as_is(wrapped_message(text)); };
  options.quiet = flags.quiet;
  options.terminal = isatty(STDERR_FILENO);
  return options;
}

}  // namespace pxl::cli
