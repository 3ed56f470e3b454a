// How many cores the process may use: its affinity mask and the CPU quota of its control groups.
#pragma once

#include <optional>
#include <string>

namespace pxl {

/// The least of: the cores of the affinity mask (taskset, cpusets), and the quota of the process's control group and of
/// the groups around it, in version 1 and 2, rounded to whole cores. At least 1.
int usable_cores();

/// The least quota in cores (2.5: two and a half), absent where there is none. `root` is put before the paths of the
/// files that are read: /proc/self/cgroup, /proc/self/mountinfo, and the groups' own.
std::optional<double> cpu_quota(const std::string& root = "");

}  // namespace pxl
