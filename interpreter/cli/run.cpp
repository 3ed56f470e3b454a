// `pxl FILE`, `pxl run`, `pxl -e` and `pxl test`.
#include <fmt/format.h>

#include <chrono>

#include "interpreter/cli/json.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/execute/engine.hpp"
#include "runtime/execute/session.hpp"

namespace pxl::cli {

namespace {

// Extracts pxl's flags from the arguments of a script.
CommonFlags take_common_flags(CommonFlags flags, std::vector<std::string>& arguments, bool quiet_is_option) {
  if (!quiet_is_option) {
    std::erase_if(arguments, [&](const std::string& word) {
      const bool quiet = word == "--quiet";
      flags.quiet |= quiet;
      return quiet;
    });
  }
  return flags;
}

}  // namespace

namespace {

int run_source(const CommonFlags& common, const std::vector<std::string>& arguments) {
  if (common.profile) Session::profile_all();
  if (!common.engine.empty()) set_default_engine(common.engine);
  if (arguments.empty())
    throw Error("run: a file is required", {fmt::format("usage: pxl {}", run_command.usage)}, Fault::usage);
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (const std::string& first = arguments.front(); first.size() > 1 && first[0] == '-' && first != "-e")
    throw Error(fmt::format("run: unknown flag `{}`", first), {fmt::format("usage: pxl {}", run_command.usage)},
                Fault::usage);
  const SourceFile* source = nullptr;
  std::string script = arguments.front();
  if (script == "-e") {
    if (rest.empty()) throw Error("-e: code is required", {"usage: pxl -e CODE"}, Fault::usage);
    source = &add_source("<command line>", rest.front());
    rest.erase(rest.begin());
    script = "-e";
  } else {
    source = &read_source(script);
  }
  const ast::TreePtr tree = parse_or_throw(*source);
  const std::vector<OptionInfo> declared = scan_options(*tree);
  for (const std::string& word : rest) {
    if (word == "--help" || word == "-h") {
      write_out(options_help(script, declared, script_doc(*tree)));
      return exit_ok;
    }
  }
  bool quiet_is_option = false;
  for (const auto& o : declared) quiet_is_option |= o.name == "quiet";
  const CommonFlags flags = take_common_flags(common, rest, quiet_is_option);
  InterpreterOptions options = interpreter_options(flags);
  options.options = parse_options(script, declared, rest);
  options.program_name = script;
  const auto owned = make_interpreter(std::move(options));
  Interpreter& interpreter = *owned;
  if (flags.nancheck) debugger_of(interpreter).check_nan(true);
  evaluator_of(interpreter).run_file(tree);
  return exit_ok;
}

}  // namespace

int run_script(const CommonFlags& given, const std::vector<std::string>& words) {
  CommonFlags common = given;
  std::vector<std::string> arguments = words;
  take_leading_flags(common, arguments);
  if (!common.json) return run_source(common, arguments);
  const auto start = std::chrono::steady_clock::now();
  const int status = guarded([&] { return run_source(common, arguments); });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  emit({{"event", "exit"}, {"status", status}, {"seconds", seconds.count()}});
  return status;
}

namespace {

int run_tests(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Invocation call = parse_flags(test_command, arguments, 1);
  const std::vector<std::string> files = program_files(test_command, call.operands);
  CommonFlags flags = common;
  flags.json = use_json(common, call);
  const auto say = [&](const std::string& line) { flags.json ? write_err(line) : void(write_out(line)); };
  int passed = 0, failed = 0;
  for (const std::string& path : files) {
    const int status = guarded([&] {
      const ast::TreePtr tree = parse_or_throw(read_source(path));
      InterpreterOptions options = interpreter_options(flags);
      options.run_tests = true;
      options.program_name = path;
      const auto owned = make_interpreter(std::move(options));
      Interpreter& interpreter = *owned;
      evaluator_of(interpreter).run_file(tree);
      for (const TestOutcome& t : evaluator_of(interpreter).tests) {
        say(fmt::format("{} {}: {}\n", t.passed ? "ok    " : "FAILED", path, t.title));
        if (!t.passed) report(Error(t.failure));
        if (flags.json) emit({{"event", "test"}, {"file", path}, {"title", t.title}, {"passed", t.passed}});
        ++(t.passed ? passed : failed);
      }
      if (evaluator_of(interpreter).tests.empty()) say(fmt::format("       {}: no test blocks\n", path));
      return exit_ok;
    });
    if (status == exit_interrupted) return status;
    if (status != exit_ok) {
      say(fmt::format("FAILED {}: ended early\n", path));
      ++failed;
    }
  }
  say(fmt::format("{} passed, {} failed\n", passed, failed));
  if (flags.json) emit({{"event", "summary"}, {"passed", passed}, {"failed", failed}});
  return failed == 0 ? exit_ok : exit_failed;
}

constexpr Flag run_flags[] = {
    {"--profile", "", "before FILE: each session prints a time profile when it ends"},
    {"--engine", "NAME", "before FILE: default engine of sessions: planned, reference or tiles"},
    {"--nancheck", "", "before FILE: stop runs at the first op that produces a NaN or an infinity"},
    {"--json", "", "before FILE: print one JSON object per line (docs/json.md)"},
};
constexpr Flag test_flags[] = {json_flag};

}  // namespace

const Command run_command{"run", "run [--profile] [--engine NAME] [--nancheck] [--json] FILE [--OPTION VALUE ...]",
                          "run a script, like `pxl FILE`", run_script, run_flags};
const Command test_command{
    "test",    "test FILE ...", "run the `test` blocks of scripts",
    run_tests, test_flags,      "A folder means all .pxl files below it. Exits with 1 if a test failed."};

}  // namespace pxl::cli
