// Reports as files: one JSON object, one page of HTML, trace events for chrome://tracing and Perfetto.
#pragma once

#include <span>
#include <string>

#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

/// The object that docs/profile-json.md describes ("pxl-profile/1"), ending with a newline. `against` is what the
/// reports are compared with; may be empty.
std::string json_text(std::span<const Report> runs, std::span<const Report> against = {});

/// A page that needs nothing besides itself and shows all that the JSON holds.
std::string page_text(std::span<const Report> runs, std::span<const Report> against = {});

/// Trace events, one process a report, one lane each for ops, compute, exchange, sync and host: complete events with
/// times in microseconds of the machine's clock, in the Trace Event Format of Chrome. Of a run with more steps than a
/// report keeps the beginning: an instant says where it ends, otherData.complete is false.
std::string trace_text(std::span<const Report> runs);

/// How reports differ from those they are compared with, matched by name, else by place: totals, kinds of ops, the ops
/// that changed most.
std::string difference_text(std::span<const Report> runs, std::span<const Report> against, size_t top = 10);

/// The report that `run` is compared with, or nullptr.
const Report* counterpart(const Report& run, std::span<const Report> runs, std::span<const Report> against);

/// A file of the page, embedded by cmake/embed.cmake.
struct PageFile {
  std::string_view name;
  std::string_view text;
};
std::span<const PageFile> page_files();

}  // namespace pxl::tiles
