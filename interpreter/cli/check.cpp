// `pxl check`: reports errors of files without running them.
#include "interpreter/language/check.hpp"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/language/fixes.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"

namespace pxl::cli {

namespace {

constexpr Flag fix_flag{"--fix", "", "make the changes that errors offer, and report the errors that are left"};

/// Makes the fixes that the diagnostics of a file offer, until none is left: a fix may show another mistake.
void fix_one(const Script& script, const Invocation& call, bool quiet) {
  const std::string& path = script.file;
  constexpr int max_rounds = 20;
  std::set<std::string> seen;
  for (int round = 0; round < max_rounds; ++round) {
    const Checked checked = check_source(script, call, quiet);
    const std::vector<Diagnostic>& found = checked.result.errors.empty() ? checked.warnings : checked.result.errors;
    const SourceFile* source = nullptr;
    for (const Diagnostic& d : found)
      if (d.span && d.span.file->name() == path) source = d.span.file;
    std::vector<std::string> made;
    const std::optional<std::string> text = source ? fixed_text(*source, found, &made) : std::nullopt;
    if (!text || !seen.insert(*text).second) return;
    write_file_atomically(path, *text);
    if (quiet) continue;
    for (const std::string& title : made) print_err("{}: fixed: {}\n", path, title);
  }
}

int check_one(const CommonFlags& flags, const Invocation& call, const Script& script, bool json) {
  const std::string& path = script.file;
  if (call.has(fix_flag.name)) fix_one(script, call, flags.quiet);
  const Checked checked = check_source(script, call, flags.quiet);
  for (const Diagnostic& d : checked.result.errors) report(Error(d));
  for (const Diagnostic& d : checked.warnings) report(Error(d));
  if (!flags.quiet) {
    for (const std::string& what : checked.result.tried) print_err("{}: {}\n", path, what);
    print_unchecked(path, checked.result);
  }
  if (json) {
    Json programs = Json::array();
    for (const auto& ir : checked.result.irs) programs.push_back(ir->name());
    emit({{"event", "checked"},
          {"file", path},
          {"errors", checked.result.errors.size()},
          {"warnings", checked.warnings.size()},
          {"programs", programs},
          {"unchecked", checked.result.unchecked}});
  }
  return checked.result.errors.empty() ? exit_ok : exit_refused;
}

int run_check(const CommonFlags& flags, const std::vector<std::string>& arguments) {
  const ScriptWords words = script_words(check_command, arguments, {.several = true});
  const Invocation call = parse_flags(check_command, words.ours);
  const bool json = use_json(flags, call);
  int worst = exit_ok;
  for (const Script& script : words.scripts) {
    const bool one = script.source || is_model(script.file);
    for (const std::string& path : one ? std::vector{script.file} : program_files(check_command, {script.file})) {
      // The text is read again where it may have been changed by --fix.
      const Script file{path, script.options, path == "-" ? script.source : nullptr};
      const int status = guarded([&] { return check_one(flags, call, file, json); });
      if (status == exit_interrupted) return status;
      worst = std::max(worst, status);
    }
  }
  return worst;
}

constexpr Flag check_flags[] = {path_flag, program_flag, evaluate_flag, fix_flag, allow_flag, json_flag};

}  // namespace

const Command check_command{
    "check",
    "check [--fix] [--program CALL] FILE [--OPTION VALUE ...] ...",
    "report errors without running anything",
    run_check,
    check_flags,
    "A folder means all .pxl files below it. Parses each file, checks all of its code for unknown names, and "
    "builds its programs to check shapes and\n"
    "dtypes. Programs whose parameters all have defaults are built as they are; --program builds one with\n"
    "given arguments. No session runs, no file is written, no data set is loaded; what depends on these is left out.\n"
    "A file without errors is also searched for code that probably does not do what is meant: these are warnings.\n"
    "Exits with 65 if there are errors, else with 0."};

}  // namespace pxl::cli
