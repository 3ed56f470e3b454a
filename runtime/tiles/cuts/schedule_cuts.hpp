// The cuts of a schedule: as text, beside those of another schedule, and the error of cuts that do not fit.
#pragma once

#include <string>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl::tiles {

/// The text that CutFile reads. `program`: as headings name it.
std::string cuts_text(const Schedule& schedule, const std::string& program);

/// Ops and tensors of a schedule that take their cut from a file, and all.
struct CutCounts {
  int64_t taken = 0, all = 0;
};
CutCounts count_cuts(const Schedule& schedule);

/// Compares a schedule with cuts from a file to the schedule that the search finds: the figures of both, and the ops
/// whose cuts differ. The largest difference in cycles comes first.
std::string cuts_difference(const Schedule& given, const Schedule& found);

/// The error of a schedule that does not fit, at the line of the op that runs where the fullest tile has its peak.
/// Plans the program without this line, and without all lines, to say what fits.
Error cuts_shortage(const Schedule& schedule, const Graph& graph, const EstimateOptions& options);

}  // namespace pxl::tiles
