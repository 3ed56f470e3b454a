#include "runtime/base/threads/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "runtime/base/threads/control_groups.hpp"

namespace pxl {
namespace {

/// The quota of one group in cores, if the group has one.
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

std::optional<double> cpu_quota(const std::string& root) { return limit_in_control_groups("cpu", quota_of, root); }

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
