// Serialised reports: a JSON object, an HTML page, trace events for chrome://tracing and Perfetto.
#pragma once

#include <map>
#include <span>
#include <string>

#include "runtime/tiles/report/report.hpp"
#include "runtime/tiles/sweep.hpp"

namespace pxl::tiles {

/// The object described in docs/profile-json.md ("pxl-profile/1"), with a final newline. `against` holds the reports
/// for comparison, and may be empty.
std::string json_text(std::span<const Report> runs, std::span<const Report> against = {});

/// Contents of a page besides the reports.
struct PageExtras {
  std::string graphs;                          ///< a page of the graphs; may be empty
  std::map<std::string, std::string> sources;  ///< texts of the programs, by the names in ReportOp::where
  Sweep sweep;                                 ///< shown as a section, unless it is empty
  std::string measured;                        ///< the JSON of a measured script; empty if none was measured
};
/// A self-contained page that shows everything in the JSON.
std::string page_text(std::span<const Report> runs, std::span<const Report> against = {},
                      const PageExtras& extras = {});

/// Trace events in Chrome's Trace Event Format, with one process per report. Ops, compute, exchange, sync and host have
/// one lane each. Complete events have times in microseconds of the machine's clock. If a run has more steps than the
/// report keeps, it is truncated. An instant event then marks the end, and otherData.complete is false.
std::string trace_text(std::span<const Report> runs);

/// Differences between reports: totals, kinds of ops, and the ops with the largest change. Reports are matched by name,
/// else by position.
std::string difference_text(std::span<const Report> runs, std::span<const Report> against, size_t top = 10);

/// The report with which `run` is compared, or nullptr.
const Report* counterpart(const Report& run, std::span<const Report> runs, std::span<const Report> against);

/// A file of the HTML page, embedded by cmake/embed.cmake.
struct PageFile {
  std::string_view name;
  std::string_view text;
};
std::span<const PageFile> page_files();

}  // namespace pxl::tiles
