// Memory limits of control groups, in made-up trees of /proc and /sys.
#include "runtime/base/limits/memory_limit.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {
struct Root : TemporaryFolder {
  std::optional<int64_t> memory() const { return control_group_memory(path.string()); }
};
}  // namespace

TEST_CASE("no control groups, no limit on memory") {
  const Root root;
  CHECK(!root.memory());
}

TEST_CASE("version 2: the least memory of the group and those around it") {
  const Root root;
  root.file("proc/self/cgroup", "0::/a/b\n");
  root.file("proc/self/mountinfo", "30 23 0:27 / /sys/fs/cgroup rw,relatime - cgroup2 cgroup2 rw\n");
  root.file("sys/fs/cgroup/a/b/memory.max", "max\n");
  CHECK(!root.memory());
  root.file("sys/fs/cgroup/a/memory.max", "268435456\n");
  CHECK(root.memory() == 268435456);
  root.file("sys/fs/cgroup/a/b/memory.max", "104857600\n");
  CHECK(root.memory() == 104857600);
}

TEST_CASE("version 1: the largest number of pages is no limit") {
  const Root root;
  root.file("proc/self/cgroup", "9:memory:/docker/1234\n3:cpu,cpuacct:/\n0::/\n");
  root.file("proc/self/mountinfo",
            "32 31 0:29 /docker/1234 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
            "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(!root.memory());
  root.file("sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
  CHECK(root.memory() == 536870912);
}

TEST_CASE("there is memory for a byte, and not for more than there is") {
  CHECK(has_memory_for(1));
  CHECK(!has_memory_for(int64_t{1} << 60));
}
