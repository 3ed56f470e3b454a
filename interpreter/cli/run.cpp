// `pxl FILE`, `pxl run` and `pxl -e`: run a script.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "interpreter/cli/json.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/cli/run_flags.hpp"
#include "interpreter/cli/version.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/repl/repl.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/tools/pager.hpp"
#include "interpreter/values/call_chain.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/execute/engines/engine.hpp"
#include "runtime/execute/session.hpp"
#include "runtime/processes/launch.hpp"
#include "runtime/processes/processes.hpp"

namespace pxl::cli {

namespace {

// Extracts pxl's flags from the arguments of a script, up to `--`.
CommonFlags take_common_flags(CommonFlags flags, std::vector<std::string>& arguments, bool quiet_is_option) {
  if (!quiet_is_option) {
    const auto last = std::find(arguments.begin(), arguments.end(), "--");
    const auto kept = std::remove(arguments.begin(), last, "--quiet");
    flags.quiet |= kept != last;
    arguments.erase(kept, last);
  }
  return flags;
}

}  // namespace

namespace {

/// Each process reads the file itself; standard input is that of the first process.
const SourceFile& read_in_job(const std::string& script) {
  Processes& job = processes();
  if (script != "-" || !job.several()) return read_source(script);
  const SourceFile* own = job.rank() == 0 ? &read_source(script) : nullptr;
  const std::string text = job.from_first(own ? own->text() : std::string_view(), "read standard input");
  return own ? *own : add_source("<stdin>", text);
}

/// Runs a script in a session that the REPL takes over if the script fails.
int run_in_repl(const CommonFlags& flags, const std::string& script, std::map<std::string, std::string> values) {
  if (flags.json || processes().several() || script == "-" || script == "-e")
    throw Error("--on-error repl: the REPL needs a script in a file, one process and no --json", {}, Fault::usage);
  ReplOptions options;
  options.init = false;
  options.quiet = flags.quiet;
  options.files = {script};
  options.only_after_error = true;
  options.values = std::move(values);
  options.version = version();
  return Repl(options).run();
}

int run_source(const CommonFlags& common, const std::vector<std::string>& arguments) {
  if (common.profile) Session::profile_all();
  if (!common.engine.empty()) set_default_engine(common.engine);
  if (arguments.empty())
    throw Error("run: a file is required", {fmt::format("usage: pxl {}", run_command.usage)}, Fault::usage);
  std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  std::string script = arguments.front();
  // After `--`, a word is a file even if it begins with `-`.
  const bool is_file = script == "--";
  if (is_file) {
    if (rest.empty()) throw Error("run: a file is required after `--`", {"usage: pxl run -- FILE"}, Fault::usage);
    script = rest.front();
    rest.erase(rest.begin());
  }
  if (const std::string& first = script; !is_file && first.size() > 1 && first[0] == '-' && first != "-e")
    throw Error(fmt::format("run: unknown flag `{}`", first), {fmt::format("usage: pxl {}", run_command.usage)},
                Fault::usage);
  const SourceFile* source = nullptr;
  if (script == "-e" && !is_file) {
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
      write_paged(options_help(script, declared, script_doc(*tree)));
      return exit_ok;
    }
  }
  bool quiet_is_option = false;
  for (const auto& o : declared) quiet_is_option |= o.name == "quiet";
  const CommonFlags flags = take_common_flags(common, rest, quiet_is_option);
  InterpreterOptions options = interpreter_options(flags);
  options.options = parse_options(script, declared, rest);
  options.program_name = script;
  if (common.repl_on_error) return run_in_repl(flags, script, std::move(options.options));
  // Processes of a job would end apart if one of them came to another result. A single statement fails by itself.
  if (!processes().several() && tree->body->statements.size() > 1)
    if (std::vector<Diagnostic> found = errors_before_run(script, tree, options.options); !found.empty())
      throw Error(std::move(found));
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

const Command run_command{"run", "run [FLAG ...] FILE [--OPTION VALUE ...]", "run a script, like `pxl FILE`",
                          run_script, run_flags};

}  // namespace pxl::cli
