// Logs: files that grow by lines.
#pragma once

#include <string>

namespace pxl {

/// Appends `line` and a line feed in one call of the system, so that readers see whole lines. Makes the file if there
/// is none. If several processes run one script, one process appends. Throws run_error naming the file and the system's
/// reason.
void append_line(const std::string& path, std::string line);

}  // namespace pxl
