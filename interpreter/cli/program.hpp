// Shared by commands that analyse programs without running them.
#pragma once

#include <memory>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/check.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl::cli {

constexpr Flag program_flag{"--program", "CALL", "select a program; with arguments to build it: \"infer(n = 80)\"",
                            "-p"};
constexpr Flag set_flag{"--set", "NAME=VALUE,...", "set options of the script"};

/// The programs of a file, with the interpreter that owns them.
struct Checked {
  InterpreterPtr interpreter;
  CheckResult result;
};
/// Checks a file with the given --program and --set. Throws if it does not parse.
Checked check_source(const std::string& path, const Invocation& call);

/// Prints to stderr what was not checked or not built, and why.
void print_unchecked(const std::string& path, const CheckResult& result);

struct Programs {
  Checked checked;
  std::vector<std::shared_ptr<Ir>> irs;  ///< all programs that can be built; with --program the selected ones
  std::vector<std::string> labels;       ///< of these programs
};
/// "p:12": a program and the line of the script's call; the name alone for the top level.
std::string program_line(const Ir& ir);

/// The value of --program that selects a program: its name, with the line of its call if several have this name
/// ("p:12"), and a number if several are built in this line ("p:12#2").
std::vector<std::string> program_labels(const std::vector<std::shared_ptr<Ir>>& irs);

/// Builds the programs of a file; reports to stderr what is not built, unless --quiet. Throws the errors of the file,
/// and a usage Error if no program has a requested name.
Programs programs_of(const CommonFlags& common, const std::string& path, const Invocation& call);

}  // namespace pxl::cli
