// Memory in a file: for state that is larger than main memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pxl {

/// `bytes` zeros in a file without a name in a folder. The space is allocated at once, so that writing to the memory
/// cannot fail later. Freed with the last pointer, also if the process is killed. Throws run_error that says why the
/// folder has no such file; Interrupted.
std::shared_ptr<std::byte> map_unnamed_file(const std::string& folder, int64_t bytes);

}  // namespace pxl
