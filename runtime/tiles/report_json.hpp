// Serialised reports: a JSON object, an HTML page, trace events for chrome://tracing and Perfetto.
#pragma once

#include <map>
#include <span>
#include <string>

#include "runtime/tiles/report.hpp"
#include "runtime/tiles/sweep.hpp"

namespace pxl::tiles {

/// The object described in docs/profile-json.md ("pxl-profile/1"), with a final newline. `against` holds the reports
/// for comparison; may be empty.
std::string json_text(std::span<const Report> runs, std::span<const Report> against = {});

/// What a page has besides the reports.
struct PageExtras {
  std::string graphs;                          ///< a page of the graphs; may be empty
  std::map<std::string, std::string> sources;  ///< texts of the programs, by the names in ReportOp::where
  Sweep sweep;                                 ///< gets a section, unless it is empty
};
/// A self-contained page that shows everything in the JSON.
std::string page_text(std::span<const Report> runs, std::span<const Report> against = {},
                      const PageExtras& extras = {});

/// Trace events in Chrome's Trace Event Format: one process per report; one lane each for ops, compute, exchange, sync
/// and host; complete events with times in microseconds of the machine's clock. A run with more steps than the report
/// keeps is truncated: an instant event marks the end, otherData.complete is false.
std::string trace_text(std::span<const Report> runs);

/// Differences between reports, matched by name, else by position: totals, kinds of ops, and the ops with the largest
/// change.
std::string difference_text(std::span<const Report> runs, std::span<const Report> against, size_t top = 10);

/// The report to compare `run` with, or nullptr.
const Report* counterpart(const Report& run, std::span<const Report> runs, std::span<const Report> against);

/// A file of the HTML page, embedded by cmake/embed.cmake.
struct PageFile {
  std::string_view name;
  std::string_view text;
};
std::span<const PageFile> page_files();

}  // namespace pxl::tiles
