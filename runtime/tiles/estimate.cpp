// From a mapping and its memory to the report.
#include "runtime/tiles/estimate.hpp"

#include <algorithm>
#include <bit>

#include "runtime/tiles/fit.hpp"
#include "runtime/tiles/writer.hpp"

namespace pxl::tiles {

namespace {

Report plan(const Graph& graph, const EstimateOptions& options) {
  Mapping mapping(graph, options);
  const std::unique_ptr<Memory> memory = fit(mapping);
  Report report;
  report.program = graph.is_main() ? graph.ir().name() : graph.id();
  report.machine = options.machine;
  report.options.available_memory_permille = options.plan.available_memory_permille;
  report.options.partials = options.plan.half_partial_bytes == 2 ? "float16" : "float32";
  report.options.objective = "fewest cycles that fit";
  report.search = mapping.search;
  report.graphs.resize(mapping.graphs().size());
  Writer(mapping, *memory, report).write();
  return report;
}

/// The next lower power of two, or memory of a built-in machine's tile.
uint64_t limit_below(uint64_t bytes) {
  uint64_t limit = std::bit_floor(bytes - 1);
  for (const Machine& m : machine_table())
    if (const auto memory = static_cast<uint64_t>(m.memory); memory < bytes) limit = std::max(limit, memory);
  return limit;
}

}  // namespace

Report estimate(const Graph& graph, const EstimateOptions& options) {
  Report best = plan(graph, options);
  // Neither the plans that are kept nor the search nor the fitting are exact, so a tighter limit may happen to lead to
  // a faster schedule, which fits here as well. The limits do not depend on this machine's memory, so that what a
  // smaller machine finds a larger one finds, too.
  EstimateOptions tighter = options;
  auto limit = static_cast<uint64_t>(options.machine.memory);
  int64_t needed = std::max(best.search.unrefused, best.tiles[static_cast<size_t>(best.fullest_tile)].total);
  bool fits = best.fits;
  while (fits && needed > 0) {
    // The largest at which anything is different.
    limit = limit_below(std::min(limit, static_cast<uint64_t>(needed)));
    tighter.machine.memory = static_cast<int64_t>(limit);
    tighter.machine.executable = std::min(options.machine.executable, tighter.machine.memory);
    Report other = plan(graph, tighter);
    fits = other.fits;
    needed = std::max(other.search.unrefused, other.tiles[static_cast<size_t>(other.fullest_tile)].total);
    if (!fits || other.cycles.device() >= best.cycles.device()) continue;
    best = std::move(other);
    best.machine = options.machine;
  }
  return best;
}

}  // namespace pxl::tiles
