#include "runtime/tiles/cuts/schedule_cuts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/tiles/cuts/given_cut.hpp"
#include "runtime/tiles/report/report_json.hpp"

namespace pxl::tiles {

namespace {

std::string cut_of(const MappedProgram& m, const Op& op) {
  return cut_text(m.machine(), op, m.candidate(op), m.mappings(), m.candidate_options(op));
}

/// Calls f(op, its entry in the report) for each op.
template <class F>
void for_report_ops(const Schedule& s, F&& f) {
  size_t at = 0;
  for (const GraphInstance& instance : s.program->graphs())
    for (const Op* op : instance.order) f(*op, s.report.ops[at++]);
}

int64_t fullest_bytes(const Report& r) { return r.tiles[static_cast<size_t>(r.fullest_tile)].total; }

std::string cycles_of_op(const ReportOp& op) {
  return fmt::format("{} cycles{}", grouped(op.cycles.total()), op.times > 1 ? fmt::format(" x {}", op.times) : "");
}

}  // namespace

std::string cuts_text(const Schedule& s, const std::string& program) {
  const MappedProgram& m = *s.program;
  std::string text =
      fmt::format("# {} on {}: {}{} bytes on the fullest tile\n", program, m.machine().name,
                  s.report.fits ? fmt::format("{} cycles, ", grouped(s.report.cycles.device())) : "does not fit, ",
                  grouped(fullest_bytes(s.report)));
  std::unordered_map<const Op*, const ReportOp*> reported;
  for_report_ops(s, [&](const Op& op, const ReportOp& entry) { reported[&op] = &entry; });
  for (const GraphInstance& instance : m.graphs()) {
    const std::string& graph = instance.graph->id();
    text += fmt::format("\n[{}{}{}]\n", program, graph.empty() ? "" : " ", graph);
    const CutNames names(*instance.graph, instance.order);
    for (const auto& [name, t] : names.tensors)
      text += fmt::format("{} {} {} = stored {}\n", quoted_name(name), kind_of(*t), specs_of(*t),
                          pxl::tiles::text(m.mapping(m.mapping_of(t))));
    for (const auto& [name, op] : names.ops) {
      const std::string cut = cut_of(m, *op), specs = specs_of(*op);
      if (cut.empty()) continue;
      text += fmt::format("{} {}{}{} = {} # {}\n", quoted_name(name), kind_of(*op), specs.empty() ? "" : " ", specs,
                          cut, cycles_of_op(*reported.at(op)));
    }
  }
  return text;
}

CutCounts count_cuts(const Schedule& s) {
  CutCounts counts;
  const MappedProgram& m = *s.program;
  for (const GraphInstance& instance : m.graphs()) {
    const CutNames names(*instance.graph, instance.order);
    for (const auto& [name, t] : names.tensors) ++counts.all, counts.taken += m.cut_line(*t) != nullptr;
    for (const auto& [name, op] : names.ops)
      if (!cut_of(m, *op).empty()) ++counts.all, counts.taken += m.cut_line(*op) != nullptr;
  }
  return counts;
}

std::string cuts_difference(const Schedule& given, const Schedule& found) {
  constexpr size_t limit = 40;
  std::string text = difference_text({&given.report, 1}, {&found.report, 1}, 10);
  struct Pair {
    std::string op, here, there;
    int64_t difference = 0;
  };
  std::vector<Pair> pairs;
  std::vector<const ReportOp*> there;
  for_report_ops(found, [&](const Op&, const ReportOp& entry) { there.push_back(&entry); });
  size_t at = 0, all = 0;
  for_report_ops(given, [&](const Op& op, const ReportOp& entry) {
    const ReportOp& other = *there[at++];
    if (!op.called.empty()) return;
    ++all;
    const std::string a = cut_of(*given.program, op), b = cut_of(*found.program, op);
    if (a != b)
      pairs.push_back({fmt::format("{} {}", entry.scope, entry.name), fmt::format("{} # {}", a, cycles_of_op(entry)),
                       fmt::format("{} # {}", b, cycles_of_op(other)),
                       std::abs(entry.total_cycles - other.total_cycles)});
  });
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.difference > b.difference; });
  text += fmt::format("\n  {} of {} ops have another cut\n", pairs.size(), all);
  for (size_t i = 0; i < std::min(pairs.size(), limit); ++i)
    text += fmt::format("  {}\n    this     {}\n    against  {}\n", pairs[i].op, pairs[i].here, pairs[i].there);
  if (pairs.size() > limit) text += fmt::format("  and {} more\n", pairs.size() - limit);
  return text;
}

Error cuts_shortage(const Schedule& s, const Graph& graph, const EstimateOptions& options) {
  const Shortage& shortage = s.report.shortages.front();
  const CutLine* line = nullptr;
  const Op* at = nullptr;
  for_report_ops(s, [&](const Op& op, const ReportOp& entry) {
    if (shortage.op < 0 || &entry != &s.report.ops[static_cast<size_t>(shortage.op)]) return;
    at = &op;
    line = s.program->cut_line(op);
  });
  Diagnostic d;
  d.message = "the cuts do not fit: " + shortage.what;
  EstimateOptions other = options;
  const auto fits = [&](std::shared_ptr<const CutFile> cuts, std::string_view without) {
    other.cuts = std::move(cuts);
    const Schedule found = plan(graph, other);
    if (!found.report.fits) return false;
    const std::string cut = at && at->called.empty() ? cut_of(*found.program, *at) : std::string();
    d.notes.push_back(
        fmt::format("without {} the program fits, in {} cycles", without, grouped(found.report.cycles.device())));
    if (!cut.empty()) d.notes.push_back(fmt::format("the search then finds: {}", cut));
    return true;
  };
  if (line) d.span = line->whole;
  if (!(line && fits(options.cuts->without(*line), "this line")) && !fits(nullptr, "the cuts of the file"))
    d.notes.emplace_back(
        "the search finds no plan that fits, either: `pxl profile --machine` shows changes that were tried");
  return Error(std::move(d)).as(codes::value);
}

}  // namespace pxl::tiles
