// The tile model in scripts: `estimate`, and the answer of `session.report()` for the device "ipu_model".
#pragma once

#include "interpreter/values/builtin.hpp"
#include "interpreter/values/scope.hpp"
#include "interpreter/values/value.hpp"
#include "runtime/tiles/estimate.hpp"

namespace pxl {

class ArgReader;

/// Reads `machine`, `available_memory_proportion` and `partials`.
tiles::EstimateOptions estimate_options(const ArgReader& args);
/// Converts a report to a dict: totals, cycles by phase, memory, the ops.
Value estimate_value(const tiles::Report& report);
void bind_estimate_builtins(Scope& prelude);

}  // namespace pxl
