// How many cores the process may use (its affinity mask and the CPU quota of its control groups), and how idle they
// are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace pxl {

/// The minimum of the affinity mask (taskset, cpusets) and of the CPU quotas, rounded to whole cores. The quotas are
/// those of the process's cgroup (v1 and v2) and its ancestors. At least 1.
int usable_cores();

/// The minimum quota in cores, such as 2.5; nullopt if there is none. `root` prefixes the paths of the files that are
/// read: /proc/self/cgroup, /proc/self/mountinfo, and those of the cgroups.
std::optional<double> cpu_quota(const std::string& root = "");

/// The core numbers in the calling thread's affinity mask, ascending; empty if the system does not report it.
std::vector<int> core_numbers();

/// Binds the calling thread to one core. Returns whether the system has done so.
bool pin_thread(int core);

/// Times of the cores in the affinity mask since the machine started, in clock ticks (proc_stat(5)).
struct CoreTimes {
  int64_t idle = 0;  ///< idle, and idle while a disk worked
  int64_t all = 0;   ///< idle or not
  int cores = 0;
};

/// nullopt if the system does not report them. `root` prefixes /proc/stat.
std::optional<CoreTimes> core_times(const std::string& root = "");

}  // namespace pxl
