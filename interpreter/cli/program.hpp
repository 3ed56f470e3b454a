// Functions for commands that analyse programs without running them.
#pragma once

#include <memory>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl::cli {

constexpr Flag program_flag{"--program", "CALL", "select a program; with arguments to build it: \"infer(n = 80)\"",
                            "-p"};
constexpr Flag allow_flag{"--allow", "KIND,...", "kinds of warnings that are not wanted (`pxl explain` lists them)"};
constexpr Flag set_flag{"--set", "NAME=VALUE,...", "set options of the script"};

/// A file's programs, with the interpreter that owns them.
struct Checked {
  InterpreterPtr interpreter;
  CheckResult result;
  std::vector<Diagnostic> warnings;  ///< lints, of a file without errors
};
/// Checks a file with the given --program and --set; a text that does not parse has no interpreter.
Checked check_source(const std::string& path, const Invocation& call);

/// Most work of the check before a run, in ns: 50 ms, which a user does not notice. Not measured.
constexpr int64_t max_check_ns = 50'000'000;
/// What is wrong in a script, found before it runs, with the values of its options. A script whose check is more work
/// than `max_check_ns` is checked as far as that goes.
std::vector<Diagnostic> errors_before_run(const std::string& path, const ast::TreePtr& tree,
                                          std::map<std::string, std::string> options);

/// Prints to stderr what was not checked or not built, and why.
void print_unchecked(const std::string& path, const CheckResult& result);

struct Programs {
  Checked checked;
  std::vector<std::shared_ptr<Ir>> irs;  ///< all programs that can be built; with --program the selected ones
  std::vector<std::string> labels;       ///< labels of these programs
};
/// "p:12": the program and the line of the script's call; the name alone for the top level.
std::string program_line(const Ir& ir);

/// The values of --program that select programs. A value is the program's name. If several programs have this name, the
/// line of the call follows ("p:12"). If this line builds several programs, a number follows ("p:12#2").
std::vector<std::string> program_labels(const std::vector<std::shared_ptr<Ir>>& irs);

/// Builds the programs of a file. Unless --quiet is given, reports to stderr which programs were not built. Throws the
/// errors of the file, and a usage Error if no program has a requested name.
Programs programs_of(const CommonFlags& common, const std::string& path, const Invocation& call);

}  // namespace pxl::cli
