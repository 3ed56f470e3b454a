// The tile model's entry: a graph and a machine in, the report out.
#pragma once

#include "runtime/tiles/mapping.hpp"
#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

/// Plans the graph and everything it calls on the machine. A program that does not fit gives a report that says so
/// (Report::fits, shortages). Throws Interrupted, and Error only for faults of its own.
Report estimate(const Graph& graph, const EstimateOptions& options);

/// Reads "0.3" or "MatMul=0.2,107=0.1": a proportion of tile memory for all ops or for some. Throws a usage Error.
void parse_memory_proportions(std::string_view text, EstimateOptions& options);
/// Reads "float16" or "half", "float32" or "float". Throws a usage Error.
void parse_partials(std::string_view text, EstimateOptions& options);

}  // namespace pxl::tiles
