#include "runtime/base/limits/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>

#include "runtime/base/threads/control_groups.hpp"

namespace pxl {
namespace {

constexpr int64_t no_limit = std::numeric_limits<int64_t>::max();

/// The limit of one group in bytes: a number, or `max`. Version 1 has a number near 2^63 for no limit.
std::optional<double> limit_of(const std::string& folder, bool version2) {
  std::ifstream file(folder + (version2 ? "/memory.max" : "/memory.limit_in_bytes"));
  double bytes = 0;
  constexpr double none = 0x1p62;
  if (file >> bytes && bytes >= 0 && bytes < none) return bytes;
  return std::nullopt;
}

int64_t machine_memory() {
  const long pages = ::sysconf(_SC_PHYS_PAGES), size = ::sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? int64_t{pages} * size : no_limit;
}

/// This process's resident memory that is not shared, from /proc/self/statm: `size resident shared ...` in pages.
int64_t own_memory() {
  std::ifstream file("/proc/self/statm");
  int64_t size = 0, resident = 0, shared = 0;
  file >> size >> resident >> shared;
  return std::max<int64_t>(0, resident - shared) * ::sysconf(_SC_PAGE_SIZE);
}

}  // namespace

std::optional<int64_t> control_group_memory(const std::string& root) {
  const std::optional<double> bytes = limit_in_control_groups("memory", limit_of, root);
  return bytes ? std::optional(static_cast<int64_t>(*bytes)) : std::nullopt;
}

bool has_memory_for(int64_t bytes) {
  static const int64_t of_machine = machine_memory();
  static const int64_t of_group = std::min(of_machine, control_group_memory().value_or(no_limit));
  if (bytes > of_group) return false;
  // A small request is granted without reading a file.
  constexpr int64_t small_parts = 16;
  return of_group == of_machine || bytes < of_group / small_parts || bytes <= of_group - own_memory();
}

}  // namespace pxl
