// The limit on the memory of this process: the machine's memory, or the limit of its control groups. The system kills a
// process beyond a group's limit without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pxl {

/// The least memory limit of the process's control groups, in bytes; nothing if there is none. `root`:
/// control_groups.hpp.
std::optional<int64_t> control_group_memory(const std::string& root = "");

/// Whether `bytes` more can be used. All of the machine's memory counts as free, because memory in use can be swapped
/// out. A control group's limit counts as free except for this process's resident memory.
bool has_memory_for(int64_t bytes);

}  // namespace pxl
