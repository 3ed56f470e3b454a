// From a mapping and its memory to the report.
#include "runtime/tiles/estimate.hpp"

#include "runtime/tiles/fit.hpp"
#include "runtime/tiles/writer.hpp"

namespace pxl::tiles {

Report estimate(const Graph& graph, const EstimateOptions& options) {
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

}  // namespace pxl::tiles
