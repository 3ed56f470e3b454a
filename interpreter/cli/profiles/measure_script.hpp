// Runs a script for `pxl profile`, and measures it.
#pragma once

#include "interpreter/cli/command.hpp"
#include "interpreter/cli/profiles/script_words.hpp"
#include "runtime/execute/measurements/measurement.hpp"

namespace pxl::cli {

struct MeasuredScript {
  ScriptMeasurement measurement;
  bool interrupted = false;  ///< by Ctrl-C; what was measured until then is there
};

/// Runs the script with its options. `steps`: the run of a session after which it ends; 0: none. Without `prints`, the
/// script's output is left out. Throws the errors of the script.
MeasuredScript measure_script(const CommonFlags& common, const Script& script, int64_t steps, bool prints);

}  // namespace pxl::cli
