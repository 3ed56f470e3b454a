// The limits of this process's control groups (cgroups(7), versions 1 and 2).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace pxl {

/// Reads the limit of a group from the files in its folder; nullopt if the group has no limit.
using ReadLimit = std::function<std::optional<double>(const std::string& folder, bool version2)>;

/// The least limit of the process's group and its ancestors; nothing if there is none. `root` prefixes the paths of the
/// files that are read: /proc/self/cgroup, /proc/self/mountinfo, and those of the groups.
std::optional<double> limit_in_control_groups(std::string_view controller, const ReadLimit& read,
                                              const std::string& root = "");

}  // namespace pxl
