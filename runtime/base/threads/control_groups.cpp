#include "runtime/base/threads/control_groups.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>
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

/// The hierarchies that may have a controller, of /proc/self/mountinfo: `36 35 0:30 /group /mounted rw - cgroup cgroup
/// rw,cpu`.
std::vector<Hierarchy> hierarchies(std::string_view controller, const std::string& root) {
  std::vector<Hierarchy> out;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const std::vector<std::string> words = split(line, ' ');
    const auto dash = std::find(words.begin(), words.end(), "-");
    if (words.size() < 5 || words.end() - dash < 4) continue;
    const bool version2 = dash[1] == "cgroup2";
    if (version2 || (dash[1] == "cgroup" && contains(split(dash[3], ','), controller)))
      out.push_back({version2, words[4], words[3]});
  }
  return out;
}

/// The process's group in the hierarchy, of /proc/self/cgroup: `1:cpu,cpuacct:/group`, in version 2 `0::/group`.
std::optional<std::string> group_of(std::string_view controller, bool version2, const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version2 ? line.starts_with("0::") : contains(split(controllers, ','), controller))
      return line.substr(second + 1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<double> limit_in_control_groups(std::string_view controller, const ReadLimit& read,
                                              const std::string& root) {
  std::optional<double> least;
  for (const Hierarchy& h : hierarchies(controller, root)) {
    std::optional<std::string> group = group_of(controller, h.version2, root);
    if (!group) continue;
    // The file system of a container may show only the container's group, as its root.
    std::string below = *group;
    if (h.mounted_group != "/") {
      if (below == h.mounted_group || below.starts_with(h.mounted_group + "/"))
        below.erase(0, h.mounted_group.size());
      else
        below.clear();
    }
    for (;;) {
      while (!below.empty() && below.back() == '/') below.pop_back();
      if (const std::optional<double> limit = read(root + h.mount_point + below, h.version2))
        least = std::min(least.value_or(*limit), *limit);
      if (below.empty()) break;
      below.erase(below.rfind('/'));  // the group around it
    }
  }
  return least;
}

}  // namespace pxl
