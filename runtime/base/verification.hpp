// Whether intermediate representations are verified after each step that changes them.
#pragma once

namespace pxl {

/// True in builds with assertions or sanitizers, and if the environment variable PXL_VERIFY is 1, as tests/run.py sets
/// it; PXL_VERIFY=0 turns it off. Read once per process. Throws Error (usage) for other values.
bool verification_enabled();

}  // namespace pxl
