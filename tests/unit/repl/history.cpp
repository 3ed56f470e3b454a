// Inputs across sessions: what the file keeps, side by side and torn.
#include "interpreter/repl/history.hpp"

#include <doctest/doctest.h>

#include <fstream>

#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

struct Folder : TemporaryFolder {
  std::string file() const { return *this / "below/history"; }
  std::string content() const { return pxl::test::content(file()); }
};

}  // namespace

TEST_CASE("inputs come back, of several lines and with backslashes too") {
  const Folder folder;
  {
    History h(folder.file());
    CHECK(h.add("x = 1"));
    CHECK_FALSE(h.add("x = 1"));
    CHECK_FALSE(h.add(" secret"));
    CHECK(h.add("def f() {\n  return \"a\\n\\\\b\"\n}"));
  }
  const History again(folder.file());
  CHECK(again.inputs() == std::vector<std::string>{"x = 1", "def f() {\n  return \"a\\n\\\\b\"\n}"});
}

TEST_CASE("sessions side by side keep each other's inputs") {
  const Folder folder;
  History a(folder.file()), b(folder.file());
  a.add("one");
  b.add("two");
  a.add("three");
  CHECK(History(folder.file()).inputs() == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE("a torn last line is dropped, and long files are cut") {
  const Folder folder;
  {
    History h(folder.file());
    h.add("whole");
  }
  std::ofstream(folder.file(), std::ios::app) << "torn";
  CHECK(History(folder.file()).inputs() == std::vector<std::string>{"whole"});
  CHECK(folder.content() == "whole\n");
  {
    std::ofstream out(folder.file());
    for (size_t i = 0; i < 2 * History::most + 1; ++i) out << "x = " << i << "\n";
  }
  CHECK(History(folder.file()).inputs().size() == History::most);
  CHECK(History(folder.file()).inputs().back() == "x = " + std::to_string(2 * History::most));
}

TEST_CASE("a history without a place, and one that cannot be written, work in memory") {
  History none("");
  CHECK(none.add("x"));
  CHECK(none.inputs().size() == 1);
  History refused("/proc/nowhere/history");
  CHECK(refused.add("x"));
  CHECK(refused.inputs().size() == 1);
}
