#include "runtime/base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace pxl {
namespace {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, separator);) out.push_back(part);
  return out;
}

bool contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

/// cgroups(7): the file system of a hierarchy, where it is mounted, and which of its groups that shows.
struct Hierarchy {
  bool version2 = false;
  std::string mount_point, mounted_group;
};

/// The hierarchies that may limit processor time, of /proc/self/mountinfo: `36 35 0:30 /group /mounted rw - cgroup
/// cgroup rw,cpu`.
std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> out;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool version2 = dash[1] == "cgroup2";
    if (version2 || (dash[1] == "cgroup" && contains(split(dash[3], ','), "cpu")))
      out.push_back({version2, words[4], words[3]});
  }
  return out;
}

/// The process's group in the hierarchy, of /proc/self/cgroup: `1:cpu,cpuacct:/group`, in version 2 `0::/group`.
std::optional<std::string> group_of(const std::string& root, bool version2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? line.starts_with("0::") : contains(split(controllers, ','), "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// The quota of one group in cores, where it has one.
std::optional<double> quota_of(const std::string& folder, bool version2) {
  double quota = 0, period = 0;
  if (version2) {
    std::ifstream file(folder + "/cpu.max");  // `max 100000`, `150000 100000`
    file >> quota >> period;
  } else {
    std::ifstream(folder + "/cpu.cfs_quota_us") >> quota;  // -1: none
    std::ifstream(folder + "/cpu.cfs_period_us") >> period;
  }
  if (quota > 0 && period > 0) return quota / period;
  return std::nullopt;
}

/// The calling thread's mask, of a machine with any number of cores.
class AffinityMask {
 public:
  static AffinityMask now() {
    for (int size = 1024; size <= 1 << 20; size *= 2) {
      AffinityMask mask(size);
      if (!mask.set_) break;
      if (sched_getaffinity(0, mask.bytes_, mask.set_.get()) == 0) return mask;
    }
    return AffinityMask(0);
  }
  static AffinityMask of(int core) {
    AffinityMask mask(core + 1);
    if (!mask.set_) return mask;
    CPU_ZERO_S(mask.bytes_, mask.set_.get());
    CPU_SET_S(static_cast<size_t>(core), mask.bytes_, mask.set_.get());
    return mask;
  }
  /// Sets the calling thread's mask. Returns whether the system has done so.
  bool set() const { return set_ && sched_setaffinity(0, bytes_, set_.get()) == 0; }
  explicit operator bool() const { return set_ != nullptr; }
  int count() const { return CPU_COUNT_S(bytes_, set_.get()); }
  /// One past the largest core number that the mask has room for.
  int end() const { return static_cast<int>(bytes_ * 8); }
  bool contains(int core) const { return core >= 0 && CPU_ISSET_S(static_cast<size_t>(core), bytes_, set_.get()); }

 private:
  explicit AffinityMask(int size)
      : bytes_(CPU_ALLOC_SIZE(size)), set_(size > 0 ? CPU_ALLOC(size) : nullptr, free_set) {}
  static void free_set(cpu_set_t* set) { CPU_FREE(set); }

  size_t bytes_;
  std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set_;
};

}  // namespace

std::optional<double> cpu_quota(const std::string& root) {
  std::optional<double> least;
  for (const Hierarchy& h : hierarchies(root)) {
    std::optional<std::string> group = group_of(root, h.version2);
    if (!group) continue;
    // In a container the file system may show only the container's group, as its root.
    std::string below = *group;
    if (h.mounted_group != "/") {
      if (below == h.mounted_group || below.starts_with(h.mounted_group + "/"))
        below.erase(0, h.mounted_group.size());
      else
        below.clear();
    }
    for (;;) {
      while (!below.empty() && below.back() == '/') below.pop_back();
      if (const std::optional<double> cores = quota_of(root + h.mount_point + below, h.version2))
        least = std::min(least.value_or(*cores), *cores);
      if (below.empty()) break;
      below.erase(below.rfind('/'));  // the group around it
    }
  }
  return least;
}

int usable_cores() {
  int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (const AffinityMask mask = AffinityMask::now()) cores = std::max(1, mask.count());
  if (const std::optional<double> quota = cpu_quota())
    cores = std::min(cores, std::max(1, static_cast<int>(std::lround(std::min(*quota, 1e6)))));
  return cores;
}

std::vector<int> core_numbers() {
  std::vector<int> numbers;
  const AffinityMask mask = AffinityMask::now();
  for (int core = 0; mask && core < mask.end(); ++core)
    if (mask.contains(core)) numbers.push_back(core);
  return numbers;
}

bool pin_thread(int core) { return AffinityMask::of(core).set(); }

std::optional<CoreTimes> core_times(const std::string& root) {
  const AffinityMask mask = AffinityMask::now();
  std::ifstream file(root + "/proc/stat");
  CoreTimes times;
  // `cpu0 user nice system idle iowait irq softirq steal guest guest_nice`; user and nice include those of guests.
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line.substr(3));
    if (line[3] == ' ') continue;  // the sum over all cores
    int core = -1;
    words >> core;
    if (!mask || !mask.contains(core)) continue;
    ++times.cores;
    int64_t ticks = 0;
    for (int field = 0; field < 8 && words >> ticks; ++field) {
      times.all += ticks;
      if (field == 3 || field == 4) times.idle += ticks;
    }
  }
  if (times.cores == 0) return std::nullopt;
  return times;
}

}  // namespace pxl
