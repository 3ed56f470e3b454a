#include "interpreter/cli/profiles/profile_reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "interpreter/cli/program.hpp"
#include "interpreter/cli/terminal/waiting.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/debug.hpp"
#include "interpreter/tools/graph_page.hpp"
#include "interpreter/tools/make_interpreter.hpp"
#include "interpreter/values/host.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/tiles/report/remedies.hpp"
#include "runtime/transform/ipu_part.hpp"

namespace pxl::cli {

namespace {

/// The remedy for a script without a session: add a session of its first program, or a program and a session.
std::string missing_session(const ast::Tree& tree) {
  for (const ast::Stmt* s : tree.body->statements) {
    if (s->kind != ast::StmtKind::program) continue;
    const ast::Function& program = *static_cast<const ast::ProgramStmt*>(s)->function;
    std::string arguments;
    for (const ast::Parameter& p : program.parameters)
      if (!p.default_value && !p.collects()) arguments += (arguments.empty() ? "" : ", ") + p.name;
    return fmt::format("add `session = Session({}({}))` at the end; profile does not run it", program.name, arguments);
  }
  return "declare a `program p { ... }` and add `session = Session(p())` at the end; profile does not run it";
}

/// Tries remedies that the script's options offer: half the batch, outlining, recomputation.
void try_script_options(const CommonFlags& common, const Script& script, const Invocation& call,
                        const tiles::EstimateOptions& estimating, std::vector<tiles::Report>& reports) {
  std::vector<std::vector<std::string>> changes;
  for (const OptionInfo& option : scan_options(*tree_of(script))) {
    const std::string value = value_of_option(script, option.name, option.default_text);
    int64_t batch = 0;
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), batch);
    const bool whole = failed == std::errc{} && end == value.data() + value.size();
    if ((option.name == "batch" || option.name == "batch_size") && whole && batch > 1)
      changes.push_back({"--" + option.name, std::to_string(batch / 2)});
    if ((option.name == "recompute" || option.name == "outline") && value == "false")
      changes.push_back({"--" + option.name});
  }
  for (const std::vector<std::string>& change : changes) {
    Script changed = script;
    changed.options.insert(changed.options.end(), change.begin(), change.end());
    ProfileRequest request;
    request.quiet = true;
    request.call = call;
    const std::vector<tiles::Report> others = profile_script(common, changed, request, estimating);
    for (size_t i = 0; i < reports.size() && others.size() == reports.size(); ++i)
      if (!reports[i].fits)
        reports[i].remedies.insert(reports[i].remedies.begin(), tiles::remedy_of(join_texts(change, " "), others[i]));
  }
}

}  // namespace

std::string value_of_option(const Script& script, const std::string& name, std::string value) {
  const bool is_switch = value == "true" || value == "false";
  for (size_t i = 0; i < script.options.size(); ++i) {
    const std::string& word = script.options[i];
    if (word == "--" + name && (is_switch || i + 1 < script.options.size()))
      value = is_switch ? "true" : script.options[i + 1];
    if (word == "--no-" + name) value = "false";
    if (word.starts_with("--" + name + "=")) value = word.substr(name.size() + 3);
  }
  return value;
}

tiles::EstimateOptions estimate_options_of(const Invocation& call) {
  tiles::EstimateOptions options;
  if (call.has("--machine")) options.machine = tiles::parse_machine(call.value("--machine"));
  if (call.has("--available-memory-proportion"))
    tiles::parse_memory_proportions(call.value("--available-memory-proportion"), options);
  if (call.has("--partials")) tiles::parse_partials(call.value("--partials"), options);
  if (call.has("--plans")) tiles::parse_plans(call.value("--plans"), options);
  return options;
}

std::vector<tiles::Report> profile_script(const CommonFlags& common, const Script& script,
                                          const ProfileRequest& request, const tiles::EstimateOptions& estimating) {
  std::string source = script.file;
  for (const std::string& word : script.options) source += " " + word;
  const bool quiet = common.quiet || request.quiet;
  const Checked checked = check_source(script, request.call, quiet);
  const CheckResult& looked = checked.result;
  if (!looked.errors.empty()) throw Error(looked.errors);
  const std::string wanted = request.call.value("--program"), name = wanted.substr(0, wanted.find('('));
  std::vector<std::shared_ptr<Ir>> programs = looked.sessions;
  if (name != wanted) {  // the call is the last one with its name
    programs.clear();
    for (const auto& ir : looked.irs)
      if (ir->name() == name) programs = {ir};
  }
  std::vector<tiles::Report> reports;
  std::vector<std::string> made;  // names of the programs
  std::vector<const Ir*> modelled;
  for (const auto& ir : programs) {
    if (std::find(made.begin(), made.end(), ir->name()) == made.end()) made.push_back(ir->name());
    if (!name.empty() && ir->name() != name && program_line(*ir) != name) continue;
    modelled.push_back(ir.get());
    const Waiting waiting(fmt::format("modelling program {}", ir->name()), quiet);
    if (ipus_of(ir->main()).size() > 1 || (request.systems && request.systems->all)) {
      tiles::SystemCost cost =
          tiles::system_cost(*ir, estimating, request.systems ? request.systems->links : tiles::Links());
      for (const tiles::IpuCost& i : cost.ipus) {
        reports.push_back(i.report);
        reports.back().source = source;
      }
      if (request.systems) request.systems->costs.push_back(std::move(cost));
      continue;
    }
    reports.push_back(tiles::estimate(ir->main(), estimating));
    reports.back().source = source;
    if (!request.answers) continue;
    tiles::try_remedies(reports.back(), *ir, estimating);
    tiles::try_float16_partials(reports.back(), ir->main(), estimating);
  }
  const auto does_not_fit = [](const tiles::Report& r) { return !r.fits; };
  if (request.answers && wanted.empty() && std::any_of(reports.begin(), reports.end(), does_not_fit))
    try_script_options(common, script, request.call, estimating, reports);
  if (request.page && !modelled.empty()) {
    // Op plans exist for programs on one IPU only.
    const bool planned = reports.size() == modelled.size();
    request.page->graphs = graph_page(
        modelled, nullptr, planned ? std::span<const tiles::Report>(reports) : std::span<const tiles::Report>());
    request.page->sources = source_texts(modelled);
  }
  if (!quiet && wanted.empty())
    for (const std::string& what : looked.unbuilt) print_err("{}: {}\n", script.file, what);
  if (!reports.empty()) return reports;
  if (!made.empty())
    throw Error(fmt::format("profile: {} creates no session of a program {}", script.file, wanted),
                {fmt::format("its programs: {}", join_texts(made, ", "))}, Fault::usage);
  if (looked.irs.empty() || name != wanted) throw no_program(script, checked);
  throw Error(fmt::format("{}: the script creates no session, so there is no program to profile", script.file),
              {missing_session(*checked.tree)});
}

}  // namespace pxl::cli
