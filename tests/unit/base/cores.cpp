// Quotas of control groups and the time of cores, in made-up trees of /proc and /sys.
#include "runtime/base/threads/cores.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <unistd.h>

#include <thread>

#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {
struct Root : TemporaryFolder {
  std::optional<double> quota() const { return cpu_quota(path.string()); }
};
}  // namespace

TEST_CASE("no control groups, no quota") {
  const Root root;
  CHECK(!root.quota());
  root.file("proc/self/cgroup", "nonsense\n::\n0:\n");
  root.file("proc/self/mountinfo", "nonsense\n1 2 3 - cgroup2\n- - - - - -\n");
  CHECK(!root.quota());
}

TEST_CASE("version 2: the least of the group and those around it") {
  const Root root;
  root.file("proc/self/cgroup", "0::/a/b/c\n");
  root.file("proc/self/mountinfo",
            "30 23 0:27 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  root.file("sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
  CHECK(!root.quota());
  root.file("sys/fs/cgroup/a/b/c/cpu.max", "250000 100000\n");
  CHECK(root.quota() == 2.5);
  root.file("sys/fs/cgroup/a/cpu.max", "50000 50000\n");
  CHECK(root.quota() == 1.0);
  root.file("sys/fs/cgroup/a/b/cpu.max", "5000 100000\n");
  CHECK(root.quota() == 0.05);
}

TEST_CASE("version 2 in a container: the file system shows the container's group as its root") {
  const Root root;
  root.file("proc/self/cgroup", "0::/docker/1234/inner\n");
  root.file("proc/self/mountinfo", "30 23 0:27 /docker/1234 /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  root.file("sys/fs/cgroup/cpu.max", "100000 100000\n");
  CHECK(root.quota() == 1.0);
  root.file("sys/fs/cgroup/inner/cpu.max", "50000 100000\n");
  CHECK(root.quota() == 0.5);
  // A name space that does not show where the process is: its root counts.
  root.file("proc/self/cgroup", "0::/../elsewhere\n");
  CHECK(root.quota() == 1.0);
}

TEST_CASE("version 1: quota and period stand in files of their own") {
  const Root root;
  root.file("proc/self/cgroup", "9:memory:/other\n3:cpu,cpuacct:/docker/1234/a\n0::/\n");
  root.file("proc/self/mountinfo",
            "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
            "32 31 0:29 /docker/1234 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
            "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
            "34 31 0:31 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  CHECK(root.quota() == 3.0);
  root.file("sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "120000\n");
  CHECK(root.quota() == 1.2);
}

TEST_CASE("the affinity mask bounds the cores") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  CHECK(usable_cores() >= 1);
  CHECK(usable_cores() <= CPU_COUNT(&before));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  // The mask is this thread's alone, and ends with it.
  std::thread([&] {
    REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(usable_cores() == 1);
  }).join();
}

TEST_CASE("times are those of the affinity mask's cores") {
  const Root root;
  CHECK(!core_times(root.path.string()));
  root.file("proc/stat", "cpu  9 9 9 9\nintr 1 2 3\n");
  CHECK(!core_times(root.path.string()));
  std::string text = "cpu  1 1 1 1 1 1 1 1 1 1\n";
  for (int core = 0; core < 4096; ++core) text += "cpu" + std::to_string(core) + " 10 20 5 30 10 1 2 22 7 7\n";
  root.file("proc/stat", text + "intr 1 2 3\ncpu7 9 9 9 9\n");
  const std::optional<CoreTimes> times = core_times(root.path.string());
  REQUIRE(times);
  CHECK(times->cores >= usable_cores());
  CHECK(times->idle == 40 * times->cores);
  CHECK(times->all == 100 * times->cores);
  CHECK(core_times());
}

TEST_CASE("core times cover the affinity mask alone") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  const std::optional<CoreTimes> times = core_times();
  sched_setaffinity(0, sizeof before, &before);
  REQUIRE(times);
  CHECK(times->cores == 1);
}
