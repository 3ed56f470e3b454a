// The command line: one table of commands, and their shared functions.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::cli {

/// Exit statuses, with the numbers of sysexits.h where it defines one.
enum ExitStatus : int {
  exit_ok = 0,
  exit_failed = 1,       ///< failed while running
  exit_usage = 2,        ///< wrong usage
  exit_refused = 65,     ///< the text was refused
  exit_unreadable = 66,  ///< a file cannot be read
  exit_internal = 70,    ///< internal error
  exit_interrupted = 130
};

/// Flags that every command accepts.
struct CommonFlags {
  bool quiet = false;
  bool profile = false;        ///< sessions print a time profile
  std::string engine = {};     ///< engine of sessions that name none; empty: the default
  bool nancheck = false;       ///< runs stop at the first NaN or infinity
  bool json = false;           ///< standard output is JSON (json.hpp)
  int ranks = 0;               ///< number of processes that run the script; 0: this one, or those of the launcher
  std::string hosts = {};      ///< hosts of these processes, comma separated; empty: this one
  bool repl_on_error = false;  ///< a script that fails leaves its session to the REPL
  double timeout = 60;         ///< seconds that a process waits for another
};

/// Removes the flags of run_flags.hpp from the beginning of the arguments, and sets their values.
void take_leading_flags(CommonFlags& flags, std::vector<std::string>& arguments);

/// One flag of a command. Help, manual, completion and parsing read it.
struct Flag {
  std::string_view name;        ///< "--check"
  std::string_view value = {};  ///< "FILE", "N", or "a|b|c" for a fixed choice; empty: the flag has no value
  std::string_view doc = {};
  std::string_view letter = {};  ///< "-o"
  /// The accepted values that completion offers, separated by spaces.
  std::string (*words)() = nullptr;
};

/// One command. A command is a file that defines its row, and a line in commands.inc.
struct Command {
  std::string_view name;
  std::string_view usage;  ///< "run FILE [--OPTION VALUE ...]"
  std::string_view doc;
  int (*run)(const CommonFlags& flags, const std::vector<std::string>& arguments);
  std::span<const Flag> flags = {};
  std::string_view details = {};   ///< paragraphs for `pxl help NAME` and the manual
  std::string_view operands = {};  ///< kind of operands for completion: empty for programs, "COMMAND", "KIND" (of
                                   ///< errors), "a|b|c", or "-" for none
};
#define PXL_COMMAND(name) extern const Command name##_command;
#include "interpreter/cli/commands.inc"
#undef PXL_COMMAND
std::span<const Command* const> commands();
/// Flags before a command, or without one.
std::span<const Flag> main_flags();

struct ExitRow {
  int status;
  std::string_view doc;
};
/// Exit statuses and environment variables with their meanings, for the manual.
std::span<const ExitRow> exit_rows();
std::vector<std::pair<std::string_view, std::string_view>> environment_rows();

/// The arguments of a command, parsed with its flags.
struct Invocation {
  std::vector<std::string> operands;
  std::map<std::string, std::string, std::less<>> flags;  ///< values by name; empty for a flag without a value
  bool has(std::string_view flag) const { return flags.find(flag) != flags.end(); }
  /// The flag's value, or `otherwise`.
  std::string value(std::string_view flag, std::string otherwise = {}) const;
};
/// Accepts `--flag VALUE`, `--flag=VALUE`, `-o VALUE`; `--` ends the flags, `-` is an operand. Throws a usage Error for
/// unknown flags (with a suggestion), missing or unexpected values, and fewer than `least` operands.
Invocation parse_flags(const Command& command, const std::vector<std::string>& arguments, size_t least = 0);
/// The help texts, as `pxl help` and `pxl help COMMAND` print them.
std::string help_text();
std::string help_text(const Command& command);

/// Runs the command line without the program's name. Returns the exit status and never throws.
int run_command_line(const std::vector<std::string>& arguments);

int run_script(const CommonFlags& flags, const std::vector<std::string>& arguments);

/// The names of the engines, for `Flag::words`.
std::string engine_words();
/// The names of the tile model's machines.
std::string machine_words();

/// Folders in which modules are looked for.
constexpr Flag path_flag{"--path", "FOLDER",
                         "import modules from this folder as well; several are separated by commas"};
/// Adds the folders of path_flag.
void add_import_folders(const Invocation& call);

constexpr Flag json_flag{"--json", "", "one JSON object a line on standard output (docs/json.md)"};
/// Whether --json is given before or after the command's name. If so, diagnostics are written as JSON too.
bool use_json(const CommonFlags& flags, const Invocation& call = {});

constexpr Flag force_flag{"--force", "", "overwrite files that the command line does not name"};
/// Throws a usage Error if the command chose the name of an existing file and --force is not given. Every file that a
/// command writes is named on the command line or passes this check.
void check_overwrite(const Command& command, const Invocation& call, const std::string& path);

/// Prints diagnostics to standard error (in colour on a terminal, unless NO_COLOR is set) and returns the exit status.
int report(const Error& error);
/// The outcome of a command.
struct Outcome {
  int status = exit_ok;
  std::optional<Error> error = {};
  bool interrupted = false;
};
/// Runs `body` and catches everything that it throws.
Outcome outcome_of(const std::function<int()>& body);
/// Prints the outcome's message, if any. Returns the exit status.
int report(const Outcome& outcome);
/// Runs `body` and converts every exception to a message and an exit status.
int guarded(const std::function<int()>& body);
/// Runs `body` as `guarded` does, in all processes of a job: joins the job that a launcher has started, and ends it. An
/// error is shown once, by the first process, or by a process that has lost the others.
int guarded_in_job(const CommonFlags& flags, const std::function<int()>& body);
/// Replaces this process by a launcher that runs the same command as `flags.ranks` processes.
[[noreturn]] void launch(const CommonFlags& flags, const std::vector<std::string>& arguments);

/// Expands folders to the .pxl files below them, sorted, without hidden files. Throws a usage Error for a folder
/// without programs.
std::vector<std::string> program_files(const Command& command, const std::vector<std::string>& operands);

/// Reads a whole file ("-": standard input) and registers it as a source. Throws Error (unreadable).
const SourceFile& read_source(const std::string& path);

/// Parses a script's options as command-line flags: `--batch 8`, `--batch=8`, `--shuffle`, `--no-shuffle`. Throws a
/// usage Error for unknown flags (with a suggestion), missing values and stray words.
std::map<std::string, std::string> parse_options(const std::string& script, const std::vector<OptionInfo>& declared,
                                                 const std::vector<std::string>& arguments);
/// The text of `pxl FILE --help`.
std::string options_help(const std::string& script, const std::vector<OptionInfo>& declared, std::string_view doc);

/// Interpreter options for commands that write to this process's output.
InterpreterOptions interpreter_options(const CommonFlags& flags);

}  // namespace pxl::cli
