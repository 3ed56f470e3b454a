// How many cores the process may use: its affinity mask and the CPU quota of its control groups.
#pragma once

#include <optional>
#include <string>

namespace pxl {

/// The minimum of the affinity mask (taskset, cpusets) and the CPU quotas of the process's cgroup (v1 and v2) and of
/// its ancestors, rounded to whole cores. At least 1.
int usable_cores();

/// The minimum quota in cores, such as 2.5; nullopt if there is none. `root` prefixes the paths of the files that are
/// read: /proc/self/cgroup, /proc/self/mountinfo, and those of the cgroups.
std::optional<double> cpu_quota(const std::string& root = "");

}  // namespace pxl
