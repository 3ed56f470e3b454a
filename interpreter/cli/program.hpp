// Functions for commands that analyse programs without running them.
#pragma once

#include <memory>

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/profiles/script_words.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl::cli {

constexpr Flag program_flag{"--program", "CALL", "select a program; with arguments to build it: \"infer(n = 80)\"",
                            "-p"};
constexpr Flag allow_flag{"--allow", "KIND,...", "kinds of warnings that are not wanted (`pxl explain` lists them)"};
constexpr Flag evaluate_flag{"--run", "", "read files, draw numbers and compute outside sessions; sessions do not run"};

/// A file's programs, with the interpreter that owns them.
struct Checked {
  InterpreterPtr interpreter;
  CheckResult result;
  std::vector<Diagnostic> warnings;  ///< lints, of a file without errors
  ast::TreePtr tree;                 ///< null for a text that does not parse
};
/// Checks a script with the given --program, --run and --allow; a text that does not parse has no interpreter. A
/// terminal shows that it takes long, unless `quiet`.
Checked check_source(const Script& script, const Invocation& call, bool quiet);

/// The error of a command that could build no program: why, and what helps.
Error no_program(const Script& script, const Checked& checked);

/// Most work of the check before a run, in ns: 50 ms, which a user does not notice. A statement that adds no op to a
/// graph for 2 ms is skipped: it computes what the run computes again.
constexpr int64_t max_check_ns = 50'000'000, max_check_part_ns = 2'000'000;
/// The errors of a script, found before it runs, with the values of its options. A script whose check is more work
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

/// Builds the programs of a script. Unless --quiet is given, reports to stderr which programs were not built. Throws
/// the errors of the script, a usage Error if it declares no program of a requested name, and `no_program` if there is
/// none. `modules_suffice`: a text that declares modules and no program has no programs, which is no error.
Programs programs_of(const CommonFlags& common, const Script& script, const Invocation& call,
                     bool modules_suffice = false);

}  // namespace pxl::cli
