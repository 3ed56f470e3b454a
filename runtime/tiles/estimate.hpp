// Entry point of the tile model: a graph and a machine in, a report out.
#pragma once

#include <memory>

#include "runtime/tiles/mapped_program.hpp"
#include "runtime/tiles/memory.hpp"
#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

/// A schedule: the choice of a candidate for each op and of a mapping for each tensor.
struct Schedule {
  std::unique_ptr<MappedProgram> program;
  std::unique_ptr<Memory> memory;
  Report report;
};
/// Throws Error for a graph with ops on several IPUs, since such a graph has no cost on one IPU.
void require_one_ipu(const Graph& graph);
/// Returns the fastest schedule found that fits, else one with a small shortage. Ops of all IPUs run on one chip.
/// Throws Interrupted; throws Error for internal faults.
Schedule plan(const Graph& graph, const EstimateOptions& options);

/// Models the graph and all graphs that it calls on the machine. A program that does not fit yields a report with
/// Report::fits false and the shortages. Throws Interrupted. Throws Error for a graph on several IPUs, which system.hpp
/// divides, and for internal faults.
Report estimate(const Graph& graph, const EstimateOptions& options);

/// Parses "0.3" or "MatMul=0.2,107=0.1": the proportion of tile memory that is available to all ops, or to some ops.
/// Throws a usage Error.
void parse_memory_proportions(std::string_view text, EstimateOptions& options);
/// Parses "gather", "shift" or "gather,shift": families of plans for matrix products. If both are named, the plans of
/// both are compared. Also parses "separately": each op takes its own best plan (CandidateOptions). Throws a usage
/// Error.
void parse_plans(std::string_view text, EstimateOptions& options);
/// Parses "float16" or "half", "float32" or "float". Throws a usage Error.
void parse_partials(std::string_view text, EstimateOptions& options);

}  // namespace pxl::tiles
