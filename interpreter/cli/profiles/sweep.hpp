// `pxl profile --sweep`: models one program with several machines or options.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "interpreter/cli/profiles/profile_reports.hpp"
#include "runtime/tiles/sweep.hpp"

namespace pxl::cli {

/// Profiles the script for each combination of values in `given`. An item is "KEY=368..2944" (doubling, and the last
/// value), "KEY=1..9..2" (in steps) or "KEY=1,2,4". KEY is an option of the script, a constant of machines,
/// `available-memory-proportion` or `partials`. Throws a usage Error.
tiles::Sweep sweep_script(const CommonFlags& common, const Script& script, const ProfileRequest& request,
                          const std::vector<std::string>& given, const std::string& machine,
                          const tiles::EstimateOptions& estimating);

}  // namespace pxl::cli
