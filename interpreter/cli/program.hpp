// What commands share that look at programs without running them.
#pragma once

#include <memory>

#include "interpreter/cli/command.hpp"
#include "interpreter/language/check.hpp"

namespace pxl::cli {

constexpr Flag program_flag{"--program", "CALL",
                            "this program; one that the file does not build is called: \"infer(n = 80)\"", "-p"};
constexpr Flag set_flag{"--set", "NAME=VALUE,...", "values of the script's options"};

/// A file's programs, and the interpreter that keeps them alive.
struct Checked {
  std::unique_ptr<Interpreter> interpreter;
  CheckResult result;
};
/// Checks a file as --program and --set ask. Throws where it does not parse.
Checked check_source(const std::string& path, const Invocation& call);

/// Writes to stderr what was not checked or not built, and why.
void print_unchecked(const std::string& path, const CheckResult& result);

struct Programs {
  Checked checked;
  std::vector<std::shared_ptr<Ir>> irs;  ///< all that can be built; with --program those that it names
  std::vector<std::string> labels;       ///< of them
};
/// "p:12": a program and the line where the script called it; the name alone for that of the top level.
std::string program_line(const Ir& ir);

/// What --program chooses a program by: its name, with the line of its call where several have the name ("p:12"), and
/// a number where these have one line ("p:12#2").
std::vector<std::string> program_labels(const std::vector<std::shared_ptr<Ir>>& irs);

/// A file's programs, built; what is not built is written to stderr, unless --quiet. Throws what is wrong with the
/// file, and a usage Error where there is no program of a name that was asked for.
Programs programs_of(const CommonFlags& common, const std::string& path, const Invocation& call);

}  // namespace pxl::cli
