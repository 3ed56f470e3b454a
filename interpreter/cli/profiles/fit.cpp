// `pxl fit` searches the options that a script and the planner have, and prints the rows that no other row dominates.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>

#include "interpreter/cli/diff.hpp"
#include "interpreter/cli/json.hpp"
#include "interpreter/cli/profiles/measure_script.hpp"
#include "interpreter/cli/profiles/profile_reports.hpp"
#include "interpreter/cli/program.hpp"
#include "interpreter/cli/terminal/waiting.hpp"
#include "interpreter/syntax/ast.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/standard_streams.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/tiles/cuts/schedule_cuts.hpp"
#include "runtime/tiles/report/report_json.hpp"

namespace pxl::cli {

namespace {

constexpr int64_t max_batch = 1 << 20;
constexpr int bisections = 4;

/// Flags of the planner that are tried on the rows that remain.
struct PlanVariant {
  std::string_view flags;
  void (*change)(tiles::EstimateOptions&);
};
constexpr PlanVariant plan_variants[] = {
    {"", [](tiles::EstimateOptions&) {}},
    {"--partials float16", [](tiles::EstimateOptions& o) { o.candidates.half_partial_bytes = 2; }},
    {"--plans gather", [](tiles::EstimateOptions& o) { o.candidates.copies = false; }},
    {"--available-memory-proportion 0.2",
     [](tiles::EstimateOptions& o) { o.candidates.available_memory_permille = 200; }},
};

/// A choice of values, as written in the script, by option; and a row of plan_variants.
struct FitChoice {
  std::map<std::string, std::string> values;
  size_t variant = 0;
  auto operator<=>(const FitChoice&) const = default;
};
struct FitRow {
  FitChoice choice;
  int64_t batch = 0, cycles = 0, bytes = 0;
  double rate = 0;  ///< samples a second, or runs without a batch
  bool fits = false;
  std::string cuts;
};

bool dominates_row(const FitRow& a, const FitRow& b) {
  return a.fits && a.rate >= b.rate && a.bytes <= b.bytes && a.batch >= b.batch &&
         (a.rate > b.rate || a.bytes < b.bytes || a.batch > b.batch || a.choice < b.choice);
}

std::optional<int64_t> whole_number(const std::string& text) {
  int64_t n = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
  return failed == std::errc{} && end == text.data() + text.size() && n > 0 ? std::optional(n) : std::nullopt;
}

class Fit {
 public:
  Fit(const CommonFlags& common, const Script& script, const Invocation& call)
      : common_(common), script_(script), call_(call), estimating_(estimate_options_of(call)), tree_(tree_of(script)) {
    for (const ast::Stmt* s : tree_->body->statements) {
      if (s->kind != ast::StmtKind::option) continue;
      const auto& option = *static_cast<const ast::OptionStmt*>(s);
      if (!option.default_value) continue;
      const std::string value = value_of_option(script, option.name, std::string(option.default_value->span.text()));
      if ((option.name == "batch" || option.name == "batch_size") && batch_.empty() && whole_number(value)) {
        batch_ = option.name;
        start_.values[batch_] = value;
      } else if ((value == "true" || value == "false") &&
                 (option.name == "recompute" || option.name == "outline" || option.name == "checkpoints")) {
        switches_.push_back(option.name);
        start_.values[option.name] = value;
      }
    }
  }

  std::vector<FitRow> search() {
    for (size_t bits = 0; bits < size_t{1} << switches_.size(); ++bits) {
      FitChoice choice = start_;
      for (size_t i = 0; i < switches_.size(); ++i) choice.values[switches_[i]] = bits >> i & 1 ? "true" : "false";
      search_batches(choice);
    }
    for (const FitRow& row : front())
      for (size_t v = 1; v < std::size(plan_variants); ++v) {
        FitChoice choice = row.choice;
        choice.variant = v;
        planned(choice);
      }
    return front();
  }
  size_t plans() const { return rows_.size(); }
  /// The first row, if no row fits.
  const FitRow& start() { return planned(start_); }

  /// The options that a row changes, as words of the command line.
  std::vector<std::string> words_of(const FitChoice& choice) const {
    std::vector<std::string> words;
    for (const auto& [name, value] : choice.values) {
      if (name == batch_)
        words.insert(words.end(), {"--" + name, value});
      else
        words.push_back(value == "true" ? "--" + name : "--no-" + name);
    }
    return words;
  }

  /// The script with the row's values as defaults of its options, as a patch. Lines before the difference say how the
  /// row is planned.
  std::string patch_of(const FitRow& row) const {
    const std::string_view text = tree_->source->text();
    std::string changed;
    size_t at = 0;
    for (const ast::Stmt* s : tree_->body->statements) {
      if (s->kind != ast::StmtKind::option) continue;
      const auto& option = *static_cast<const ast::OptionStmt*>(s);
      const auto value = row.choice.values.find(option.name);
      if (value == row.choice.values.end() || !option.default_value) continue;
      changed += text.substr(at, option.default_value->span.begin - at);
      changed += value->second;
      at = option.default_value->span.end;
    }
    changed += text.substr(at);
    const std::filesystem::path path(script_.file);
    const std::string name = path.is_absolute() ? path.filename().string() : script_.file;
    return fmt::format("{} cycles a run, {} bytes on the fullest tile: pxl profile --machine {}{}{} {}\n{}",
                       tiles::grouped(row.cycles), tiles::grouped(row.bytes), estimating_.machine.name,
                       row.choice.variant > 0 ? " " : "", plan_variants[row.choice.variant].flags, name,
                       unified_diff(text, changed, "a/" + name, "b/" + name));
  }

  /// Rows that no other dominates, of those that run on tiles as they are planned. Rows that do not are named.
  std::vector<FitRow> executed_front() {
    std::set<FitChoice> done;
    while (true) {
      const std::vector<FitRow> rows = front();
      const auto next = std::find_if(rows.begin(), rows.end(), [&](const FitRow& r) { return !done.count(r.choice); });
      if (next == rows.end()) return rows;
      done.insert(next->choice);
      try {
        execute(*next);
      } catch (const Error& e) {
        rows_.at(next->choice).fits = false;
        print_err("fit: {} {} does not run as planned: {}\n", join_texts(words_of(next->choice), " "),
                  plan_variants[next->choice.variant].flags, e.first().message);
      }
    }
  }

  std::string table(const std::vector<FitRow>& rows) const {
    std::string text = fmt::format("{} plans on {}; {} rows that no other dominates\n{:>4}", plans(),
                                   estimating_.machine.name, rows.size(), "row");
    for (const auto& [name, value] : start_.values)
      text += fmt::format("  {:>{}}", name, std::max<size_t>(6, name.size()));
    text += fmt::format("  {:>16}  {:>14}  {:>14}  flags\n", "cycles a run", batch_.empty() ? "runs/s" : "samples/s",
                        "fullest tile");
    for (size_t i = 0; i < rows.size(); ++i) {
      text += fmt::format("{:>4}", i + 1);
      for (const auto& [name, value] : rows[i].choice.values)
        text += fmt::format("  {:>{}}", value, std::max<size_t>(6, name.size()));
      text += fmt::format("  {:>16}  {:>14.1f}  {:>14}  {}\n", tiles::grouped(rows[i].cycles), rows[i].rate,
                          tiles::grouped(rows[i].bytes), plan_variants[rows[i].choice.variant].flags);
    }
    return text;
  }

  Json json_of(const FitRow& row) const {
    return {{"event", "fit"},       {"options", row.choice.values}, {"flags", plan_variants[row.choice.variant].flags},
            {"cycles", row.cycles}, {"per_second", row.rate},       {"bytes", row.bytes}};
  }

 private:
  /// Runs the script on tiles as the row is planned. Stops when the first run of a session has ended. Throws its
  /// errors.
  void execute(const FitRow& row) const {
    tiles::set_standard_machine(estimating_.machine);
    tiles::set_standard_cuts(std::make_shared<const tiles::CutFile>("<row>", row.cuts, tiles::CutUse::session));
    CommonFlags flags = common_;
    flags.engine = "tiles";
    measure_script(flags, with_values(row.choice), 1, false);
  }

  Script with_values(const FitChoice& choice) const {
    Script changed = script_;
    const std::vector<std::string> words = words_of(choice);
    changed.options.insert(changed.options.end(), words.begin(), words.end());
    return changed;
  }

  /// Doubles the batch from the start while the program fits, or halves it until it fits. Then looks for the largest.
  void search_batches(FitChoice choice) {
    const bool fits = planned(choice).fits;
    if (batch_.empty()) return;
    int64_t good = 0, bad = 0, n = *whole_number(start_.values.at(batch_));
    const auto try_batch = [&](int64_t batch) {
      choice.values[batch_] = std::to_string(batch);
      const bool ok = planned(choice).fits;
      (ok ? good : bad) = batch;
      return ok;
    };
    if (fits) {
      while (n < max_batch && try_batch(n)) n *= 2;
    } else {
      while (n > 0 && !try_batch(n)) n /= 2;
    }
    for (int i = 0; i < bisections && good > 0 && bad - good > 1; ++i) try_batch((good + bad) / 2);
  }

  const FitRow& planned(const FitChoice& choice) {
    const auto [at, fresh] = rows_.try_emplace(choice);
    FitRow& row = at->second;
    if (!fresh) return row;
    check_interrupt();
    const Waiting waiting(fmt::format("planning row {}", rows_.size()), common_.quiet);
    row.choice = choice;
    row.batch = batch_.empty() ? 0 : *whole_number(choice.values.at(batch_));
    tiles::EstimateOptions options = estimating_;
    options.cuts = nullptr;
    plan_variants[choice.variant].change(options);
    const Checked checked = check_source(with_values(choice), call_, true);
    if (!checked.result.errors.empty()) throw Error(checked.result.errors);
    const std::string wanted = call_.value("--program");
    const std::vector<std::string> labels = program_labels(checked.result.sessions);
    row.fits = true;
    for (size_t i = 0; i < labels.size(); ++i) {
      const Ir& ir = *checked.result.sessions[i];
      if (!wanted.empty() && labels[i] != wanted && ir.name() != wanted) continue;
      const tiles::Schedule s = tiles::plan(ir.main(), options);
      row.fits = row.fits && s.report.fits;
      row.bytes = std::max(row.bytes, s.report.tiles[static_cast<size_t>(s.report.fullest_tile)].total);
      row.cycles = std::max(row.cycles, s.report.cycles.device());
      row.cuts += tiles::cuts_text(s, labels[i]);
    }
    if (row.cuts.empty()) throw no_program(script_, checked);
    row.rate = static_cast<double>(std::max<int64_t>(1, row.batch)) * 1e6 / options.machine.microseconds(row.cycles);
    return row;
  }

  std::vector<FitRow> front() const {
    std::vector<FitRow> best;
    for (const auto& one : rows_) {
      const FitRow& row = one.second;
      const auto dominates = [&](const auto& other) { return dominates_row(other.second, row); };
      if (row.fits && std::none_of(rows_.begin(), rows_.end(), dominates)) best.push_back(row);
    }
    std::stable_sort(best.begin(), best.end(), [](const FitRow& a, const FitRow& b) { return a.rate > b.rate; });
    return best;
  }

  const CommonFlags& common_;
  const Script& script_;
  const Invocation& call_;
  tiles::EstimateOptions estimating_;
  ast::TreePtr tree_;
  std::string batch_;  // the option; empty: none
  std::vector<std::string> switches_;
  FitChoice start_;
  std::map<FitChoice, FitRow> rows_;
};

int run_fit(const CommonFlags& common, const std::vector<std::string>& arguments) {
  const ScriptWords words = script_words(fit_command, arguments);
  const Invocation call = parse_flags(fit_command, words.ours);
  const bool json = use_json(common, call);
  Fit fit(common, words.scripts.front(), call);
  std::vector<FitRow> rows = fit.search();
  if (call.has("--execute")) rows = fit.executed_front();
  if (rows.empty())
    throw Error(fmt::format("fit: none of {} plans fits; the given one takes {} bytes on a tile", fit.plans(),
                            tiles::grouped(fit.start().bytes)),
                {"`pxl profile --machine` shows further changes that were tried"});
  const std::string given = call.value("--row", "1");
  const std::optional<int64_t> wanted = whole_number(given);
  if (!wanted || *wanted > std::ssize(rows))
    throw Error(fmt::format("fit: --row: there are rows 1 to {}, not `{}`", rows.size(), given), {}, Fault::usage);
  if (json)
    for (const FitRow& row : rows) emit(fit.json_of(row));
  else
    write_out(fit.table(rows) + (call.has("--execute") ? "each row was executed on its tiles\n" : ""));
  if (!call.has("--output")) return exit_ok;
  write_file_atomically(call.value("--output"), fit.patch_of(rows[static_cast<size_t>(*wanted - 1)]));
  if (!json) print_out("row {} written to {}\n", *wanted, call.value("--output"));
  return exit_ok;
}

constexpr Flag fit_flags[] = {
    machine_flag,
    program_flag,
    evaluate_flag,
    {"--execute", "", "run the script on the tiles of each row, up to the end of the first run of a session"},
    {"--output", "FILE", "write a row's values of options as a patch of the script", "-o"},
    {"--row", "N", "the row of the patch (1: the fastest)"},
    json_flag,
};

}  // namespace

const Command fit_command{"fit",
                          "fit [--machine NAME] [-o FILE] FILE [--OPTION VALUE ...]",
                          "search the options with which a script's programs fit on an IPU",
                          run_fit,
                          fit_flags,
                          "Plans the programs that the script creates sessions for with other values of its options "
                          "`batch` (or `batch_size`),\n"
                          "`recompute`, `outline` and `checkpoints`, and with flags of the planner. Prints the rows "
                          "that no other row dominates\n"
                          "in speed, bytes of a tile and batch. `-o fit.patch` writes a row's values as defaults of "
                          "the options: `patch -p1`\n"
                          "applies them."};

}  // namespace pxl::cli
