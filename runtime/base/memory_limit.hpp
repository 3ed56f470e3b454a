// How much memory this process may use: that of the machine, or the limit of its control groups, beyond which the
// system kills it without a word.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pxl {

/// The least memory limit of the process's control groups, in bytes; nothing if there is none. `root`:
/// control_groups.hpp.
std::optional<int64_t> control_group_memory(const std::string& root = "");

/// Whether `bytes` more can be used. Of the machine's memory all of it counts as free, since what is in use can be
/// swapped out; of a control group's, what this process does not have in memory.
bool has_memory_for(int64_t bytes);

}  // namespace pxl
