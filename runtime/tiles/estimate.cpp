// Builds the report from a mapped program and its memory.
#include "runtime/tiles/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/join_texts.hpp"
#include "runtime/tiles/costs/fit.hpp"
#include "runtime/tiles/report/writer.hpp"
#include "runtime/transform/ipu_part.hpp"

namespace pxl::tiles {

namespace {

Schedule scheduled(const Graph& graph, const EstimateOptions& options) {
  Schedule s;
  s.program = std::make_unique<MappedProgram>(graph, options);
  s.memory = fit(*s.program);
  const MappedProgram& program = *s.program;
  Report& report = s.report;
  report.program = graph.is_main() ? graph.ir().name() : graph.id();
  report.machine = options.machine;
  report.options.available_memory_permille = options.candidates.available_memory_permille;
  report.options.partials = options.candidates.half_partial_bytes == 2 ? "float16" : "float32";
  report.options.objective = "fewest cycles that fit";
  report.search = program.search;
  report.graphs.resize(program.graphs().size());
  Writer(program, *s.memory, report).write();
  return s;
}

/// The next lower power of two, or the memory of a Mk2's tile, whichever is larger. Machine files do not change it.
uint64_t limit_below(uint64_t bytes) {
  constexpr uint64_t mk2_memory = 624 * 1024;
  const uint64_t power = std::bit_floor(bytes - 1);
  return mk2_memory < bytes ? std::max(power, mk2_memory) : power;
}

/// The largest number of bytes on a tile at which the limit may have changed a decision.
int64_t bytes_needed(const Report& r) {
  return std::max(r.search.bytes_without_rejection, r.tiles[static_cast<size_t>(r.fullest_tile)].total);
}

/// Enumeration, search and fitting are heuristic, so a tighter limit may lead to a faster schedule. That schedule also
/// fits here. The limits do not depend on this machine's memory, so a larger machine is never slower than a smaller
/// one.
Schedule with_tighter_limits(const Graph& graph, const EstimateOptions& options) {
  Schedule best = scheduled(graph, options);
  EstimateOptions tighter = options;
  auto limit = static_cast<uint64_t>(options.machine.memory);
  int64_t needed = bytes_needed(best.report);
  bool fits = best.report.fits;
  while (fits && needed > 0) {
    // The largest memory limit below `needed` that changes any decision.
    limit = limit_below(std::min(limit, static_cast<uint64_t>(needed)));
    tighter.machine.limit = static_cast<int64_t>(limit);
    tighter.machine.executable = std::min(options.machine.executable, tighter.machine.limit);
    Schedule other = scheduled(graph, tighter);
    fits = other.report.fits;
    needed = bytes_needed(other.report);
    if (!fits || other.report.cycles.device() >= best.report.cycles.device()) continue;
    best = std::move(other);
    best.report.machine = options.machine;
  }
  return best;
}

/// Schedules that do not fit are slower than all that do; among them the one with the smaller shortage is faster.
bool is_faster(const Report& a, const Report& b) {
  const auto key = [](const Report& r) {
    return std::pair(!r.fits, r.fits ? r.cycles.device() : r.tiles[static_cast<size_t>(r.fullest_tile)].total);
  };
  return key(a) < key(b);
}

/// The candidates that `options` permits, and subsets of them: the search is heuristic, so that fewer may lead to a
/// faster schedule. One subset is what `--plans gather` permits.
std::vector<CandidateOptions> families_of(const CandidateOptions& options) {
  std::vector<CandidateOptions> all = {options};
  if (!options.copies || !options.gather) return all;
  for (const bool joint : {true, false}) {
    all.push_back(options);
    all.back().copies = false;
    all.back().joint = joint && options.joint;
  }
  return all;
}

/// The fastest schedule with smaller shares of a tile for temporaries, which the given share permits too.
Schedule with_smaller_shares(const Graph& graph, const EstimateOptions& options, Schedule best) {
  for (const int64_t permille : {300, 100, 30})
    for (const CandidateOptions& candidates : families_of(options.candidates)) {
      if (permille >= options.candidates.available_memory_permille) continue;
      EstimateOptions less = options;
      less.candidates = candidates;
      less.candidates.available_memory_permille = permille;
      Schedule other = scheduled(graph, less);
      other.report.options = best.report.options;
      if (is_faster(other.report, best.report)) best = std::move(other);
    }
  return best;
}

Schedule fastest(const Graph& graph, const EstimateOptions& options) {
  Schedule best;
  for (const CandidateOptions& candidates : families_of(options.candidates)) {
    EstimateOptions one = options;
    one.candidates = candidates;
    Schedule other = with_tighter_limits(graph, one);
    if (!best.program || is_faster(other.report, best.report)) best = std::move(other);
  }
  if (!best.report.fits) best = with_smaller_shares(graph, options, std::move(best));
  if (options.machine.dram_memory > 0) {
    // Tensors are kept in the second memory level; tiles hold the data of the running op.
    EstimateOptions spilled = options;
    spilled.machine.spill = options.machine.dram_memory / options.machine.tiles;
    Schedule other = scheduled(graph, spilled);
    if (is_faster(other.report, best.report)) best = std::move(other);
  }
  return best;
}

}  // namespace

Schedule plan(const Graph& graph, const EstimateOptions& options) {
  EstimateOptions all = options;
  if (!all.candidates.products) all.candidates.products = make_product_memo();
  // Ops that are planned separately have no second choice, so a tighter limit cannot lead to a faster schedule.
  Schedule best = options.candidates.separately ? scheduled(graph, all) : fastest(graph, all);
  if (!options.compare_families) return best;
  std::vector<FamilyReport> families;
  const auto add = [&](std::string plans, const Report& r) {
    families.push_back(
        {std::move(plans), r.cycles.device(), r.tiles[static_cast<size_t>(r.fullest_tile)].total, r.fits});
  };
  for (const bool gather : {true, false}) {
    EstimateOptions one = all;
    one.candidates.gather = gather;
    one.candidates.copies = !gather;
    Schedule alone = fastest(graph, one);
    add(gather ? "gather" : "shift", alone.report);
    if (is_faster(alone.report, best.report)) best = std::move(alone);
  }
  add("gather,shift", best.report);
  best.report.families = std::move(families);
  return best;
}

void require_one_ipu(const Graph& graph) {
  if (const std::vector<int> ipus = ipus_of(graph); ipus.size() > 1)
    throw Error(fmt::format("the graph `{}` has ops on the IPUs {}: it has no cost on one of them",
                            graph.is_main() ? graph.ir().name() : graph.id(), join_texts(ipus, ", ")),
                {"`pxl profile` shows the cost of each IPU of a program"})
        .as(codes::program);
}

Report estimate(const Graph& graph, const EstimateOptions& options) {
  require_one_ipu(graph);
  return plan(graph, options).report;
}

}  // namespace pxl::tiles
