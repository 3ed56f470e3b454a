// Saves that are cut off, permissions, links, leftovers; filters.
#include "runtime/base/files/atomic_file.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/limits/filter_program.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;
namespace fs = std::filesystem;

namespace {

mode_t mode_of(const std::string& file) {
  struct stat info {};
  ::stat(file.c_str(), &info);
  return info.st_mode & 0777u;
}

/// Runs `body` in a process of its own; gives what waitpid says.
template <class Body>
int in_process(const Body& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

constexpr TemporaryFile both[] = {TemporaryFile::unnamed, TemporaryFile::named};

}  // namespace

TEST_CASE("a save keeps the permissions of a file and takes those of the umask for a new one") {
  const TemporaryFolder folder;
  const mode_t before = ::umask(027);
  for (const TemporaryFile temporary : both) {
    fs::remove(folder / "a");
    write_file_atomically(folder / "a", "one", temporary);
    CHECK(mode_of(folder / "a") == 0640);
    ::chmod((folder / "a").c_str(), 0604);
    write_file_atomically(folder / "a", "two", temporary);
    CHECK(mode_of(folder / "a") == 0604);
    CHECK(content(folder / "a") == "two");
    CHECK(folder.entries() == 1);
  }
  ::umask(before);
}

TEST_CASE("symbolic links are followed, also to files that are not there yet") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "inner");
  fs::create_symlink("inner/file", folder / "second");
  fs::create_symlink("second", folder / "first");
  for (const char* text : {"one", "two"}) {
    write_file_atomically(folder / "first", text);
    CHECK(content(folder / "inner/file") == text);
  }
  CHECK(fs::is_symlink(folder / "first"));
  CHECK(fs::is_symlink(folder / "second"));
  fs::create_symlink("circle", folder / "circle");
  CHECK_THROWS_AS(write_file_atomically(folder / "circle", "x"), Error);
  fs::create_symlink("/dev/null", folder / "null");
  write_file_atomically(folder / "null", "x");
  CHECK(fs::is_symlink(folder / "null"));
}

TEST_CASE("another user's symbolic link in everybody's folder is not followed") {
  if (::geteuid() != 0) return;  // needs files of two users
  const TemporaryFolder folder;
  fs::create_directory(folder / "everybody");
  ::chmod((folder / "everybody").c_str(), 01777);
  std::ofstream(folder / "precious") << "old";
  fs::create_symlink("../precious", folder / "everybody/picture.svg");
  REQUIRE(::lchown((folder / "everybody/picture.svg").c_str(), 12345, 12345) == 0);
  CHECK_THROWS_WITH_AS(write_file_atomically(folder / "everybody/picture.svg", "new"),
                       ("cannot write " + folder / "everybody/picture.svg" + ": Permission denied").c_str(), Error);
  CHECK(content(folder / "precious") == "old");
  REQUIRE(::lchown((folder / "everybody/picture.svg").c_str(), 0, 0) == 0);
  write_file_atomically(folder / "everybody/picture.svg", "new");
  CHECK(content(folder / "precious") == "new");
}

TEST_CASE("a file of another user keeps its owner where that is allowed") {
  if (::geteuid() != 0) return;
  const TemporaryFolder folder;
  std::ofstream(folder / "a") << "old";
  REQUIRE(::chown((folder / "a").c_str(), 12345, 54321) == 0);
  write_file_atomically(folder / "a", "new");
  struct stat info {};
  ::stat((folder / "a").c_str(), &info);
  CHECK(info.st_uid == 12345);
  CHECK(info.st_gid == 54321);
}

TEST_CASE("a process that is killed leaves the old file, and at most one temporary file, which the next save removes") {
  const TemporaryFolder folder;
  const std::string large(1 << 22, 'x');
  for (const TemporaryFile temporary : both) {
    write_file_atomically(folder / "a", "old");
    for (int tries = 0; tries < 20; ++tries) {
      const pid_t child = ::fork();
      if (child == 0) {
        for (;;) write_file_atomically(folder / "a", large, temporary);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500 + 700 * tries));
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
      const std::string text = content(folder / "a");
      CHECK((text == "old" || text == large));
      CHECK(folder.entries() <= 2);
    }
    write_file_atomically(folder / "a", "new");
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("a save leaves alone what another process is writing, and what is not its own") {
  const TemporaryFolder folder;
  const char *busy = ".a.abcdefghijkl.pxl-tmp", *dead = ".a.bbcdefghijkl.pxl-tmp", *other = ".b.abcdefghijkl.pxl-tmp";
  for (const char* name : {busy, dead, other, ".a.pxl-tmp", ".a.x.pxl-tmp"}) std::ofstream(folder / name) << name;
  fs::create_directory(folder / ".a.cccccccccccc.pxl-tmp");
  const int held = ::open((folder / busy).c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  write_file_atomically(folder / "a", "text");
  CHECK(fs::exists(folder / busy));
  CHECK_FALSE(fs::exists(folder / dead));
  CHECK(folder.entries() == 6);
  ::close(held);
  write_file_atomically(folder / "a", "text");
  CHECK_FALSE(fs::exists(folder / busy));
}

TEST_CASE("several processes save one file at a time") {
  const TemporaryFolder folder;
  for (const TemporaryFile temporary : both) {
    std::vector<pid_t> children;
    for (char letter : {'a', 'b', 'c', 'd'}) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      try {
        for (int i = 0; i < 50; ++i) write_file_atomically(folder / "shared", std::string(100000, letter), temporary);
      } catch (...) {
        ::_exit(1);
      }
      ::_exit(0);
    }
    for (const pid_t child : children) {
      int status = -1;
      ::waitpid(child, &status, 0);
      CHECK(status == 0);
    }
    const std::string text = content(folder / "shared");
    CHECK(text == std::string(100000, text.empty() ? '?' : text[0]));
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("a file that grows beyond a limit is an error, and the old one stays") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  for (const TemporaryFile temporary : both) {
    const int status = in_process([&] {
      ::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{65536, 65536};
      ::setrlimit(RLIMIT_FSIZE, &limit);
      try {
        write_file_atomically(folder / "a", std::string(1 << 20, 'x'), temporary);
      } catch (const Error& error) {
        ::_exit(error.first().message == "cannot write " + folder / "a" + ": File too large" ? 7 : 8);
      }
    });
    CHECK(status == 7 << 8);
    CHECK(content(folder / "a") == "old");
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("an interrupted save leaves the old file and nothing else") {
  const TemporaryFolder folder;
  write_file_atomically(folder / "a", "old");
  for (const TemporaryFile temporary : both) {
    request_interrupt();
    CHECK_THROWS_AS(write_file_atomically(folder / "a", "new", temporary), Interrupted);
    CHECK(content(folder / "a") == "old");
    CHECK(folder.entries() == 1);
  }
}

TEST_CASE("a file that may not be written is not replaced; names as long as can be") {
  const TemporaryFolder folder;
  const std::string longest(255, 'n');
  for (int i = 0; i < 2; ++i)
    for (const TemporaryFile temporary : both) write_file_atomically(folder / longest, "x", temporary);
  CHECK(folder.entries() == 1);
  CHECK_THROWS_AS(write_file_atomically(folder / std::string(256, 'n'), "x"), Error);
  CHECK_THROWS_AS(write_file_atomically((folder / "") + "/", "x"), Error);
  CHECK_THROWS_AS(write_file_atomically("", "x"), Error);
  CHECK(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_AS(write_file_atomically(folder / "pipe", "x"), Error);  // nobody reads it
  if (::geteuid() == 0) return;
  ::chmod((folder / longest).c_str(), 0400);
  CHECK_THROWS_AS(write_file_atomically(folder / longest, "y"), Error);
}

TEST_CASE("programs as filters") {
  const std::string large(3 << 20, 'x');
  const FilterOutcome whole = run_filter({"cat"}, large);
  CHECK(whole.status == 0);
  CHECK(whole.output == large);
  CHECK(run_filter({"false"}, large).status == 1);
  CHECK(run_filter({"no-such-program-of-pxl"}, "x").status == 127);
  CHECK(run_filter({"sh", "-c", "kill -9 $$"}, "x").status == -1);
  CHECK(run_filter({"sh", "-c", "exec <&-; echo done"}, large).output == "done\n");
  std::thread later([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    request_interrupt();
  });
  CHECK_THROWS_AS(run_filter({"sleep", "100"}, ""), Interrupted);
  later.join();
}
