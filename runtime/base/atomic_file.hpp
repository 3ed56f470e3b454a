// Files that are either the old or the new text, never half of one, whatever ends the process.
#pragma once

#include <string>
#include <string_view>

namespace pxl {

/// Writes a temporary file beside `path`, forces it to disk and renames it over `path` (through a symbolic link,
/// keeping the mode of a file that is there). What is not a regular file (/dev/stdout) is written directly.
/// Throws run_error naming the file and the system's reason; the temporary file is then gone.
void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace pxl
