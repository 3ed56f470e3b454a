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
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/execute/engine.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/processes/launch.hpp"
#include "runtime/processes/processes.hpp"

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

/// A file that each process reads; standard input is that of the first one.
const SourceFile& read_in_job(const std::string& script) {
  Processes& job = processes();
  if (script != "-" || !job.several()) return read_source(script);
  const SourceFile* own = job.rank() == 0 ? &read_source(script) : nullptr;
  const std::string text = job.from_first(own ? own->text() : std::string_view(), "read standard input");
  return own ? *own : add_source("<stdin>", text);
}

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
    source = &read_in_job(script);
  }
  processes().meet("run the script " + script, Fingerprint().add(source->text()));
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
  struct Placed {
    explicit Placed(Interpreter& in) {
      processes().place = [&in] { return position_of(in).here; };
    }
    ~Placed() { processes().place = nullptr; }
    Placed(const Placed&) = delete;
    Placed& operator=(const Placed&) = delete;
  } const placed(interpreter);
  evaluator_of(interpreter).run_file(tree);
  return exit_ok;
}

}  // namespace

int run_script(const CommonFlags& given, const std::vector<std::string>& words) {
  CommonFlags common = given;
  std::vector<std::string> arguments = words;
  take_leading_flags(common, arguments);
  if (common.ranks == 0 && !common.hosts.empty())
    throw Error("--hosts: how many processes are to run on them?", {"`--ranks N --hosts a,b`"}, Fault::usage);
  if (common.ranks > 0 && started_by_launcher())
    throw Error("--ranks: a launcher has started this process already", {"leave `--ranks` out"}, Fault::usage);
  if (common.ranks > 0) launch(common, arguments);
  const auto run = [&] { return run_source(common, arguments); };
  if (!common.json) return guarded_in_job(common, run);
  const auto start = std::chrono::steady_clock::now();
  const int status = guarded_in_job(common, run);
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
    {"--ranks", "N", "before FILE: run the script in N processes, which share its replicas (docs/replicas.md)"},
    {"--hosts", "A,B,...", "with --ranks: the machines on which they run"},
    {"--timeout", "SECONDS", "before FILE: how long a process waits for another one; 60"},
    {"--json", "", "before FILE: print one JSON object per line (docs/json.md)"},
};
constexpr Flag test_flags[] = {json_flag};

}  // namespace

const Command run_command{"run",
                          "run [--profile] [--engine NAME] [--nancheck] [--ranks N] [--hosts A,B] [--timeout SECONDS] "
                          "[--json] FILE [--OPTION "
                          "VALUE ...]",
                          "run a script, like `pxl FILE`", run_script, run_flags};
const Command test_command{
    "test",    "test FILE ...", "run the `test` blocks of scripts",
    run_tests, test_flags,      "A folder means all .pxl files below it. Exits with 1 if a test failed."};

}  // namespace pxl::cli
