// `pxl profile`: predicts the cost of a script's programs on an IPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "interpreter/cli/program.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/graph_page.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/atomic_file.hpp"
#include "runtime/base/standard_streams.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/tiles/report_json.hpp"

namespace pxl::cli {

namespace {

constexpr Flag profile_flags[] = {
    {"--machine", "NAME,KEY=VALUE,...", "mk1, mk2, bow (the default) or c600, with changed constants: mk2,tiles=736"},
    {"--available-memory-proportion", "P",
     "of a tile's memory for temporaries, 0 to 1: 0.6, or for some ops MatMul=0.2"},
    {"--partials", "float16|float32", "dtype of partial sums of float16 matrix products"},
    {"--plans", "gather,shift", "families of plans of matrix products; compares both if both are named"},
    {"--program", "NAME", "only the program of this name"},
    {"--against", "FILE", "compare with the programs of another script; its own options follow it"},
    {"--output", "FILE", "write a report: .html is a page, .trace.json trace events, .json the object of --json", "-o"},
    {"--format", "text|html|json|trace", "output format, instead of the suffix"},
    json_flag,
    {"--top", "N", "number of the most expensive ops to print (10)"},
};

tiles::EstimateOptions options_of(const Invocation& call) {
  tiles::EstimateOptions options;
  if (call.has("--machine")) options.machine = tiles::parse_machine(call.value("--machine"));
  if (call.has("--available-memory-proportion"))
    tiles::parse_memory_proportions(call.value("--available-memory-proportion"), options);
  if (call.has("--partials")) tiles::parse_partials(call.value("--partials"), options);
  if (call.has("--plans")) tiles::parse_plans(call.value("--plans"), options);
  return options;
}

const Flag* flag_of(std::string_view word) {
  const std::string_view name = word.substr(0, word.find('='));
  for (const Flag& f : profile_flags)
    if (name == f.name || name == f.letter) return &f;
  return nullptr;
}

/// The parsed command line: pxl's flags may be anywhere, options of the scripts follow their files. An option of the
/// script takes precedence over a flag of the same name.
struct Words {
  std::vector<std::string> ours;           ///< and the file
  ast::TreePtr tree;                       ///< text of the file, which may be standard input
  std::vector<std::string> script, other;  ///< options after FILE, and after --against's file
};

Words take_apart(const std::vector<std::string>& arguments) {
  Words words;
  std::vector<std::string>* options = nullptr;  // of the script whose file came last
  std::vector<std::string> declared;
  for (auto word = arguments.begin(); word != arguments.end(); ++word) {
    const std::string name = word->substr(0, word->find('='));
    const bool script_knows = options && std::find(declared.begin(), declared.end(), name) != declared.end();
    const Flag* flag = script_knows ? nullptr : flag_of(*word);
    if (flag) {
      words.ours.push_back(*word);
      if (!flag->value.empty() && name == *word && word + 1 != arguments.end()) words.ours.push_back(*++word);
      if (flag->name == "--against") options = &words.other;
    } else if (options) {
      options->push_back(*word);
      // The value of a script's option is not a flag of pxl.
      if (script_knows && name == *word && word + 1 != arguments.end() && !flag_of(word[1]))
        options->push_back(*++word);
    } else {
      words.ours.push_back(*word);
      if (word->size() > 1 && (*word)[0] == '-') continue;
      options = &words.script;
      words.tree = parse_or_throw(read_source(*word));
      for (const auto& option : scan_options(*words.tree)) declared.push_back("--" + option.name);
    }
  }
  return words;
}

enum class Format { text, html, json, trace };

Format format_of(const Invocation& call, bool json) {
  const std::string output = call.value("--output"), wanted = call.value("--format");
  if (wanted == "text") return Format::text;
  if (wanted == "html") return Format::html;
  if (wanted == "json" || (wanted.empty() && output.empty() && json)) return Format::json;
  if (wanted == "trace") return Format::trace;
  if (output.ends_with(".html") || output.ends_with(".htm")) return Format::html;
  if (output.ends_with(".trace.json")) return Format::trace;
  if (output.ends_with(".json")) return Format::json;
  if (output.empty() || output.ends_with(".txt")) return Format::text;
  throw Error(fmt::format("profile: unsupported output format: `{}`", output),
              {".html, .json, .trace.json or .txt; or --format html|json|trace|text"}, Fault::usage);
}

size_t top_of(const Invocation& call) {
  const std::string text = call.value("--top", "10");
  if (text.empty() || text.size() > 6 || text.find_first_not_of("0123456789") != text.npos)
    throw Error(fmt::format("profile: --top: expected a number, got `{}`", text), {}, Fault::usage);
  return std::stoul(text);
}

// Evaluates a script without running it and models each program that it creates a session for; `graphs` gets the page
// of their graphs.
std::vector<tiles::Report> reports_of(const CommonFlags& common, const std::string& script, const ast::TreePtr& tree,
                                      const std::string& wanted, const std::vector<std::string>& script_options,
                                      const tiles::EstimateOptions& estimating, std::string* graphs = nullptr) {
  InterpreterOptions options = interpreter_options(common);
  options.options = parse_options(script, scan_options(*tree), script_options);
  options.program_name = script;
  options.out = options.err = [](std::string_view) {};
  options.quiet = true;
  std::string source = script;
  for (const std::string& word : script_options) source += " " + word;
  const auto owned = make_interpreter(std::move(options));
  Interpreter& interpreter = *owned;
  const CheckResult looked = check_file(interpreter, tree, {});
  if (!looked.errors.empty()) throw Error(looked.errors);
  std::vector<tiles::Report> reports;
  std::vector<std::string> made;  // names of programs
  std::vector<const Ir*> modelled;
  for (const auto& ir : looked.sessions) {
    if (std::find(made.begin(), made.end(), ir->name()) == made.end()) made.push_back(ir->name());
    if (!wanted.empty() && ir->name() != wanted && program_line(*ir) != wanted) continue;
    reports.push_back(tiles::estimate(ir->main(), estimating));
    reports.back().source = source;
    modelled.push_back(ir.get());
  }
  if (graphs && !modelled.empty()) *graphs = graph_page(modelled);
  if (!common.quiet)
    for (const std::string& what : looked.unbuilt) print_err("{}: {}\n", script, what);
  if (!wanted.empty() && reports.empty())
    throw Error(fmt::format("profile: {} creates no session of a program {}", script, wanted),
                {fmt::format("its programs: {}", fmt::join(made, ", "))}, Fault::usage);
  if (reports.empty() && !common.quiet)
    print_err("{}: the script creates no session, so there is no program to profile\n", script);
  return reports;
}

std::string summaries(const std::vector<tiles::Report>& reports, size_t top) {
  std::string text;
  for (const tiles::Report& r : reports) text += (text.empty() ? "" : "\n") + tiles::summary_text(r, top);
  return text;
}

// An unknown op id is an error. A name must be in the op table, but the program need not contain the op.
void check_proportions(const tiles::EstimateOptions& estimating, const std::vector<tiles::Report>& runs,
                       const std::vector<tiles::Report>& against) {
  for (const auto& proportion : estimating.op_memory) {
    const std::string& who = proportion.first;
    if (who.find_first_not_of("0123456789") != who.npos) continue;
    const auto has = [&](const tiles::Report& r) {
      return std::any_of(r.ops.begin(), r.ops.end(),
                         [&](const tiles::ReportOp& o) { return who == std::to_string(o.id); });
    };
    if (std::none_of(runs.begin(), runs.end(), has) && std::none_of(against.begin(), against.end(), has))
      throw Error(fmt::format("profile: --available-memory-proportion: no op has the id {}", who),
                  {"pxl schedule FILE shows the ids"}, Fault::usage);
  }
}

int run_profile(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const Words words = take_apart(arguments);
  const Invocation call = parse_flags(profile_command, words.ours, 1);
  const tiles::EstimateOptions estimating = options_of(call);
  const size_t top = top_of(call);
  const bool json = use_json(common, call);
  const Format format = format_of(call, json);
  const std::string wanted = call.value("--program"), output = call.value("--output");
  if (format == Format::html && output.empty())
    throw Error("profile: HTML requires an output file", {"pxl profile FILE -o report.html"}, Fault::usage);

  std::string graphs;
  const std::vector<tiles::Report> runs = reports_of(common, call.operands.front(), words.tree, wanted, words.script,
                                                     estimating, format == Format::html ? &graphs : nullptr);
  std::vector<tiles::Report> against;
  if (call.has("--against")) {
    const std::string other = call.value("--against");
    against = reports_of(common, other, parse_or_throw(read_source(other)), wanted, words.other, estimating);
  }
  check_proportions(estimating, runs, against);

  std::string text;
  switch (format) {
    case Format::text:
      text = against.empty() ? summaries(runs, top) : tiles::difference_text(runs, against, top);
      break;
    case Format::html: text = tiles::page_text(runs, against, graphs); break;
    case Format::json: text = tiles::json_text(runs, against); break;
    case Format::trace: text = tiles::trace_text(runs); break;
  }
  if (output.empty()) {
    write_out(text);
    return exit_ok;
  }
  write_file_atomically(output, text);
  if (json) {
    write_out(format == Format::json ? text : tiles::json_text(runs, against));
    return exit_ok;
  }
  if (format != Format::text)
    write_out(against.empty() ? summaries(runs, top) : tiles::difference_text(runs, against, top));
  print_out("written to {}\n", output);
  return exit_ok;
}

}  // namespace

const Command profile_command{
    "profile",
    "profile [FLAGS] FILE [--OPTION VALUE ...]",
    "cycles and memory of a script's programs on an IPU",
    run_profile,
    profile_flags,
    "Evaluates the script without running it and models each program that it creates a session for on the machine's\n"
    "tiles. Prints totals, cycles by phase, the most expensive ops and the fullest tile, or the difference\n"
    "from a second script: `pxl profile A.pxl --batch 8 --against B.pxl --batch 16`. `-o report.html` writes a page\n"
    "with all of it, `-o run.trace.json` a trace for chrome://tracing and Perfetto."};

}  // namespace pxl::cli
