// `pxl check`: reports errors of files without running them.
#include "interpreter/language/check.hpp"

#include <fmt/format.h>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/standard_streams.hpp"

namespace pxl::cli {

namespace {

int check_one(const CommonFlags& flags, const Invocation& call, const std::string& path, bool json) {
  const Checked checked = check_source(path, call);
  for (const Diagnostic& d : checked.result.errors) report(Error(d));
  if (!flags.quiet) print_unchecked(path, checked.result);
  if (json) {
    Json programs = Json::array();
    for (const auto& ir : checked.result.irs) programs.push_back(ir->name());
    emit({{"event", "checked"},
          {"file", path},
          {"errors", checked.result.errors.size()},
          {"programs", programs},
          {"unchecked", checked.result.unchecked}});
  }
  return checked.result.errors.empty() ? exit_ok : exit_refused;
}

int run_check(const CommonFlags& flags, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(check_command, arguments, 1);
  const bool json = use_json(flags, call);
  int worst = exit_ok;
  for (const std::string& path : program_files(check_command, call.operands)) {
    const int status = guarded([&] { return check_one(flags, call, path, json); });
    if (status == exit_interrupted) return status;
    worst = std::max(worst, status);
  }
  return worst;
}

constexpr Flag check_flags[] = {program_flag, set_flag, json_flag};

}  // namespace

const Command check_command{
    "check",
    "check [--program CALL] FILE ...",
    "report errors without running anything",
    run_check,
    check_flags,
    "A folder means all .pxl files below it. Parses each file, checks all of its code for unknown names, and "
    "builds its programs to check shapes and\n"
    "dtypes. Programs whose parameters all have defaults are built as they are; --program builds one with\n"
    "given arguments. No session runs, no file is written, no data set is loaded; what depends on these is left out.\n"
    "Exits with 65 if there are errors, else with 0."};

}  // namespace pxl::cli
