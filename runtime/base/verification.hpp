// Whether intermediate representations are verified after each step that changes them.
#pragma once

namespace pxl {

/// True in builds with assertions or sanitizers, and if the environment variable PXL_VERIFY is 1, as tests/run.py sets
/// it, `run` or `text`; PXL_VERIFY=0 turns it off. Read once per process. Throws Error (usage) for other values.
bool verification_enabled();
/// True if PXL_VERIFY is `run`: each pass of the planner is also held to the values that it had before, on random
/// inputs.
bool verification_runs();
/// True if PXL_VERIFY is `text`: plans are written, read and written again, and the plans that were read run.
bool verification_reads();

}  // namespace pxl
