// Builds the report from a mapped program and its memory.
#include "runtime/tiles/estimate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "runtime/base/codes.hpp"
#include "runtime/tiles/fit.hpp"
#include "runtime/tiles/writer.hpp"
#include "runtime/transform/ipu_part.hpp"

namespace pxl::tiles {

namespace {

Report report_of(const Graph& graph, const EstimateOptions& options) {
  MappedProgram program(graph, options);
  const std::unique_ptr<Memory> memory = fit(program);
  Report report;
  report.program = graph.is_main() ? graph.ir().name() : graph.id();
  report.machine = options.machine;
  report.options.available_memory_permille = options.candidates.available_memory_permille;
  report.options.partials = options.candidates.half_partial_bytes == 2 ? "float16" : "float32";
  report.options.objective = "fewest cycles that fit";
  report.search = program.search;
  report.graphs.resize(program.graphs().size());
  Writer(program, *memory, report).write();
  return report;
}

/// The next lower power of two or memory size of a built-in machine's tile, whichever is larger.
uint64_t limit_below(uint64_t bytes) {
  uint64_t limit = std::bit_floor(bytes - 1);
  for (const Machine& m : machine_table())
    if (m.dram_memory > 0)
      continue;  // Its plans are others.
    else if (const auto memory = static_cast<uint64_t>(m.memory); memory < bytes)
      limit = std::max(limit, memory);
  return limit;
}

/// The plan within the memories of the tiles.
Report estimate_in_tiles(const Graph& graph, const EstimateOptions& options) {
  Report best = report_of(graph, options);
  // Enumeration, search and fitting are heuristic, so a tighter limit may lead to a faster schedule, which fits here as
  // well. The limits do not depend on this machine's memory, so that a larger machine is never slower than a smaller
  // one.
  EstimateOptions tighter = options;
  auto limit = static_cast<uint64_t>(options.machine.memory);
  int64_t needed =
      std::max(best.search.bytes_without_rejection, best.tiles[static_cast<size_t>(best.fullest_tile)].total);
  bool fits = best.fits;
  while (fits && needed > 0) {
    // The largest memory limit below `needed` that changes any decision.
    limit = limit_below(std::min(limit, static_cast<uint64_t>(needed)));
    tighter.machine.memory = static_cast<int64_t>(limit);
    tighter.machine.executable = std::min(options.machine.executable, tighter.machine.memory);
    Report other = report_of(graph, tighter);
    fits = other.fits;
    needed = std::max(other.search.bytes_without_rejection, other.tiles[static_cast<size_t>(other.fullest_tile)].total);
    if (!fits || other.cycles.device() >= best.cycles.device()) continue;
    best = std::move(other);
    best.machine = options.machine;
  }
  return best;
}

}  // namespace

Report estimate(const Graph& graph, const EstimateOptions& options) {
  if (const std::vector<int> ipus = ipus_of(graph); ipus.size() > 1)
    throw Error(fmt::format("the graph `{}` has ops on the IPUs {}: it has no cost on one of them",
                            graph.is_main() ? graph.ir().name() : graph.id(), fmt::join(ipus, ", ")),
                {"`pxl profile` shows the cost of each IPU of a program"})
        .as(codes::program);
  Report report = estimate_in_tiles(graph, options);
  const Machine& m = options.machine;
  if (m.dram_memory == 0) return report;
  // Tensors are kept in the second memory level; tiles hold what they work on.
  EstimateOptions spilled = options;
  spilled.machine.spill = m.dram_memory / m.tiles;
  Report streamed = report_of(graph, spilled);
  return !report.fits || (streamed.fits && streamed.cycles.device() < report.cycles.device()) ? streamed : report;
}

}  // namespace pxl::tiles
