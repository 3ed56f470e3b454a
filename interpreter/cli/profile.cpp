// `pxl profile`: what a script's programs would cost on an IPU.
#include <fmt/format.h>

#include "interpreter/cli/command.hpp"
#include "interpreter/elaborate/options.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::cli {

namespace {

constexpr Flag profile_flags[] = {
    {"--machine", "NAME,KEY=VALUE,...", "mk1, mk2, bow (the default) or c600, with changed constants: mk2,tiles=736"},
    {"--available-memory-proportion", "P",
     "of a tile's memory for temporaries, 0 to 1: 0.6, or for some ops MatMul=0.2"},
    {"--partials", "float16|float32", "partial sums of products of float16 operands"},
    {"--program", "NAME", "only the program of that name"},
    {"--top", "N", "so many of the most expensive ops (10)"},
};

tiles::EstimateOptions options_of(const Invocation& call) {
  tiles::EstimateOptions options;
  if (call.has("--machine")) options.machine = tiles::parse_machine(call.value("--machine"));
  if (call.has("--available-memory-proportion"))
    tiles::parse_memory_proportions(call.value("--available-memory-proportion"), options);
  if (call.has("--partials")) tiles::parse_partials(call.value("--partials"), options);
  return options;
}

// Behind the first word that is no flag of ours; all of them take values.
std::vector<std::string>::const_iterator behind_file(const std::vector<std::string>& arguments) {
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    if (word->size() < 2 || (*word)[0] != '-') return word + 1;
    if (word->find('=') == word->npos && word + 1 != arguments.end()) ++word;
  }
  return arguments.end();
}

int run_profile(const CommonFlags& common, const std::vector<std::string>& arguments) {
  // The script's own options follow the file.
  const auto script_options = behind_file(arguments);
  const Invocation call = parse_flags(profile_command, {arguments.begin(), script_options}, 1);
  const tiles::EstimateOptions estimating = options_of(call);
  size_t top = 10;
  if (call.has("--top")) {
    const std::string text = call.value("--top");
    if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos)
      throw Error(fmt::format("profile: --top takes a number, not `{}`", text), {}, Fault::usage);
    top = std::stoul(text);
  }
  const std::string script = call.operands.front();
  const ast::TreePtr tree = parse_or_throw(read_source(script));
  InterpreterOptions options = interpreter_options(common);
  options.options = parse_options(script, scan_options(*tree), {script_options, arguments.end()});
  options.program_name = script;
  const std::string wanted = call.value("--program");
  bool first = true;
  options.on_session = [&](const Ir& ir) {
    if (!wanted.empty() && ir.name() != wanted) return;
    if (!first) fmt::print("\n");
    first = false;
    fmt::print("{}", tiles::summary_text(tiles::estimate(ir.main(), estimating), top));
  };
  // What the script prints is not what was asked for.
  options.out = [](std::string_view) {};
  options.quiet = true;
  Interpreter interpreter(std::move(options));
  bind_tool_builtins(interpreter);
  interpreter.run_file(tree);
  if (first)
    throw Error(wanted.empty() ? fmt::format("profile: {} makes no session, so there is no program to profile", script)
                               : fmt::format("profile: {} makes no session of a program {}", script, wanted));
  return exit_ok;
}

}  // namespace

const Command profile_command{
    "profile",
    "profile [FLAGS] FILE [--OPTION VALUE ...]",
    "cycles and memory of a script's programs on an IPU",
    run_profile,
    profile_flags,
    "Runs the script up to its sessions: each program for which one is made is planned on the machine's tiles, and "
    "runs\n"
    "give zeros at once. Prints totals, cycles by phase, the most expensive ops and the fullest tile."};

}  // namespace pxl::cli
