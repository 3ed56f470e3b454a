// `pxl profile`: measures a script, or predicts the cost of its programs on an IPU.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "interpreter/cli/profiles/measure_script.hpp"
#include "interpreter/cli/profiles/profile_reports.hpp"
#include "interpreter/cli/profiles/sweep.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/wrap.hpp"
#include "runtime/tiles/estimate.hpp"
#include "runtime/tiles/report/report_json.hpp"

namespace pxl::cli {

namespace {

constexpr Flag profile_flags[] = {
    machine_flag,
    proportion_flag,
    partials_flag,
    plans_flag,
    program_flag,
    evaluate_flag,
    {"--measure", "", "with a machine: run the script and measure it, too"},
    {"--steps", "N", "measured: end the script after this number of runs of sessions"},
    {"--replicas", "N,N,...", "predict throughput and efficiency for these numbers of replicas"},
    {"--links", "KEY=VALUE,...", "constants of the links between IPUs: link_bytes=28.7e9,remote_bytes=2e10"},
    {"--against", "FILE", "compare with the programs of another script; its own options follow it"},
    {"--output", "FILE", "write a report: .html is a page, .trace.json trace events, .json the object of --json", "-o"},
    {"--format", "text|html|json|trace", "output format, instead of the suffix"},
    json_flag,
    {"--lines", "", "print the program's lines with their cycles and bytes"},
    {"--sweep", "KEY=VALUES", "a table over an option of the script or a constant of the machine: tiles=368..2944"},
    {"--top", "N", "number of the most expensive ops to print (10)"},
};

/// Parses "16,64,256". Throws a usage Error.
std::vector<int64_t> parse_replicas(const std::string& text) {
  std::vector<int64_t> out;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    const std::string word = text.substr(at, comma - at);
    if (word.empty() || word.size() > 7 || word.find_first_not_of("0123456789") != word.npos || std::stoll(word) < 1)
      throw Error(fmt::format("profile: --replicas: expected numbers like 16,64,256, got `{}`", text), {},
                  Fault::usage);
    out.push_back(std::stoll(word));
    at = comma + 1;
  }
  return out;
}

std::string predictions(const Systems& systems, const std::vector<int64_t>& replicas, bool json) {
  std::string text;
  for (const tiles::SystemCost& cost : systems.costs) {
    const std::vector<int64_t> own{cost.replicas};
    const std::vector<int64_t>& wanted = replicas.empty() ? own : replicas;
    if (!text.empty()) text += json ? "," : "\n";
    text += json ? tiles::prediction_json(cost, wanted) : tiles::prediction_text(cost, wanted);
  }
  return json ? "[" + text + "]\n" : text;
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

std::string listings(const std::vector<tiles::Report>& reports) {
  std::string text;
  for (const tiles::Report& r : reports) text += (text.empty() ? "" : "\n") + tiles::listing_text(r);
  return text;
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

/// Writes to a file if one is given, otherwise to standard output.
void write_text(const std::string& output, const std::string& text, Format format) {
  if (output.empty()) {
    format == Format::text ? write_out(text) : write_data(text);
    return;
  }
  write_file_atomically(output, text);
  print_out("written to {}\n", output);
}

/// Flags of the model. Without one the script is measured.
constexpr std::string_view model_flags[] = {"--machine",  "--available-memory-proportion",
                                            "--partials", "--plans",
                                            "--program",  "--run",
                                            "--replicas", "--links",
                                            "--against",  "--lines",
                                            "--sweep"};

int64_t steps_of(const Invocation& call) {
  if (!call.has("--steps")) return 0;
  const std::string text = call.value("--steps");
  if (text.empty() || text.size() > 9 || text.find_first_not_of("0123456789") != text.npos || std::stoll(text) < 1)
    throw Error(fmt::format("profile: --steps: expected a number of runs, from 1, got `{}`", text), {}, Fault::usage);
  return std::stoll(text);
}

/// Writes what was measured: without a file to standard output, or else the summary besides it.
int write_measured(const MeasuredScript& measured, const std::string& output, Format format, bool json,
                   tiles::PageExtras& extras, std::span<const tiles::Report> modelled) {
  const ScriptMeasurement& m = measured.measurement;
  std::string text;
  switch (format) {
    case Format::text: text = summary_text(m, output.empty() ? terminal_size(STDOUT_FILENO).first : 0); break;
    case Format::json: text = measurement_json(m); break;
    case Format::trace: text = measurement_trace(m); break;
    case Format::html:
      extras.measured = measurement_json(m);
      text = tiles::page_text(modelled, {}, extras);
      break;
  }
  if (output.empty()) {
    format == Format::text ? void(write_out(text)) : void(write_data(text));
  } else {
    write_file_atomically(output, text);
    if (json)
      write_data(measurement_json(m));
    else
      write_out((format == Format::text ? "" : summary_text(m, terminal_size(STDOUT_FILENO).first)) +
                fmt::format("written to {}\n", output));
  }
  return measured.interrupted ? exit_interrupted : exit_ok;
}

int run_profile(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const ScriptWords words = script_words(profile_command, arguments, {.other = "--against", .repeated = "--sweep"});
  const Invocation call = parse_flags(profile_command, words.ours);
  const tiles::EstimateOptions estimating = estimate_options_of(call);
  const size_t top = top_of(call);
  const bool json = use_json(common, call);
  const Format format = format_of(call, json);
  const std::string output = call.value("--output");
  if (format == Format::html && output.empty())
    throw Error("profile: HTML requires an output file", {"pxl profile FILE -o report.html"}, Fault::usage);

  const int64_t steps = steps_of(call);
  const bool models = std::any_of(std::begin(model_flags), std::end(model_flags),
                                  [&](std::string_view flag) { return call.has(flag); });
  std::optional<MeasuredScript> measured;
  tiles::PageExtras extras;
  const Script& script = words.scripts.front();
  if (!models || call.has("--measure"))
    measured = measure_script(common, script, steps, format == Format::text && !json);
  else if (call.has("--steps"))
    throw Error("profile: --steps is for measured runs: add --measure", {}, Fault::usage);
  const bool beside = models && (format == Format::html || (output.empty() && format != Format::trace));
  if (measured && !beside) return write_measured(*measured, output, format, json, extras, {});
  if (measured && format != Format::html) write_measured(*measured, output, format, json, extras, {});

  Systems systems;
  if (call.has("--links")) systems.links = tiles::parse_links(call.value("--links"));
  std::vector<int64_t> replicas;
  if (call.has("--replicas")) replicas = parse_replicas(call.value("--replicas"));
  systems.all = !replicas.empty();
  if (systems.all && ((format != Format::text && format != Format::json) || call.has("--against")))
    throw Error("profile: --replicas writes text or JSON, of one script", {}, Fault::usage);

  ProfileRequest request;
  request.call = call;
  tiles::Sweep& sweep = extras.sweep;
  if (!words.repeated.empty()) {
    if (systems.all) throw Error("profile: --replicas and --sweep exclude each other", {}, Fault::usage);
    sweep = sweep_script(common, script, request, words.repeated, call.value("--machine"), estimating);
    if (format == Format::text || format == Format::json) {
      write_text(output, format == Format::json ? tiles::sweep_json(sweep) : tiles::sweep_text(sweep), format);
      return exit_ok;
    }
  }
  request.answers = format != Format::trace && !call.has("--against");
  request.systems = &systems;
  request.page = format == Format::html ? &extras : nullptr;
  const std::vector<tiles::Report> runs = profile_script(common, script, request, estimating);
  std::vector<tiles::Report> against;
  if (call.has("--against")) {
    request.page = nullptr;
    request.systems = nullptr;
    against = profile_script(common, words.scripts.back(), request, estimating);
  }
  check_proportions(estimating, runs, against);
  if (measured && format == Format::html) return write_measured(*measured, output, format, json, extras, runs);

  std::string text;
  switch (format) {
    case Format::text:
      text = systems.all           ? predictions(systems, replicas, false)
             : call.has("--lines") ? listings(runs)
             : against.empty()     ? summaries(runs, top)
                                   : tiles::difference_text(runs, against, top);
      if (!systems.all && !call.has("--lines") && against.empty() && !systems.costs.empty())
        text += "\n" + predictions(systems, {}, false);
      break;
    case Format::html: text = tiles::page_text(runs, against, extras); break;
    case Format::json:
      text = systems.all ? predictions(systems, replicas, true) : tiles::json_text(runs, against);
      break;
    case Format::trace: text = tiles::trace_text(runs); break;
  }
  if (output.empty()) {
    write_text(output, text, format);
    return exit_ok;
  }
  write_file_atomically(output, text);
  if (json) {
    write_data(format == Format::json || systems.all ? text : tiles::json_text(runs, against));
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
    "measure where a script's time goes, or model its programs on an IPU",
    run_profile,
    profile_flags,
    "Runs the script and prints where its time went: kernels by line, module and op, the rest of session.run, and the\n"
    "script, with rates beside what this machine reaches, and memory. Ctrl-C ends the run and keeps what was "
    "measured.\n"
    "With --machine or another flag of the model, evaluates the script without running it and models each program "
    "that\n"
    "it creates a session for on the machine's\n"
    "tiles. Prints totals, cycles by phase, the most expensive ops and the fullest tile, or the difference\n"
    "from a second script: `pxl profile A.pxl --batch 8 --against B.pxl --batch 16`. `-o report.html` writes a page\n"
    "with all of it, `-o run.trace.json` a trace for chrome://tracing and Perfetto. What does not fit is tried with\n"
    "changes that would make it fit. `--sweep tiles=368..2944 --sweep batch=8,16` tabulates all combinations: A..B "
    "doubles, A..B..STEP\n"
    "adds."};

}  // namespace pxl::cli
