// The formatter: pairs of tests/fmt; every program of the project keeps its tree and is formatted once and for all.
#include "interpreter/syntax/format/format.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <tuple>

#include "tests/unit/syntax/show.hpp"

namespace {

namespace fs = std::filesystem;
using namespace pxl;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream out;
  out << file.rdbuf();
  return std::move(out).str();
}

std::string formatted(const std::string& text) { return format_source(add_source("t.pxl", text)); }

std::vector<fs::path> programs(const fs::path& below) {
  std::vector<fs::path> out;
  for (const char* folder : {"examples", "stdlib", "bench", "tests", "docs"}) {
    if (!fs::is_directory(below / folder)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(below / folder))
      if (entry.path().extension() == ".pxl") out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

TEST_CASE("fmt: pairs of given and canonical texts") {
  int pairs = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(PXL_SOURCE_DIR) / "tests/fmt")) {
    if (entry.path().extension() != ".pxl") continue;
    CAPTURE(entry.path().filename().string());
    CHECK(formatted(read(entry.path())) == read(fs::path(entry.path()).replace_extension(".expected")));
    ++pairs;
  }
  CHECK(pairs >= 3);
}

TEST_CASE("fmt: every program of the project keeps its tree, and a second time changes nothing") {
  int seen = 0;
  for (const fs::path& path : programs(PXL_SOURCE_DIR)) {
    const std::string text = read(path);
    if (!parse(add_source("t.pxl", text)).tree) continue;
    CAPTURE(path.string());
    const std::string once = formatted(text);
    CHECK(test::tree(once) == test::tree(text));
    CHECK(formatted(once) == once);
    ++seen;
  }
  CHECK(seen > 100);
}

TEST_CASE("fmt: lines are broken and joined whatever the author's lines") {
  CHECK(formatted("x=f( 1 ,\n 2 )") == "x = f(1, 2)\n");
  CHECK(formatted("x = 1 +\n  2") == "x = 1 + 2\n");
  CHECK(formatted("y = a\n  .b()\n  .c") == "y = a.b().c\n");
  CHECK(formatted("if a { b } \n else { c }") == "if a { b } else { c }\n");
  CHECK(formatted("if a {\n b } else { c }") == "if a {\n  b\n} else {\n  c\n}\n");
}

TEST_CASE("fmt: a list that filling puts into rows stays as it then is") {
  const std::string row = "[1.0000001, 2.0000002, 3.0000003, 4.0000004, 5.0000005]";
  for (const char* after : {"", ", float32"}) {
    const std::string once = formatted("clipped = {\"grads\": [array([" + row + ", " + row + "]" + after + "), 1, 2]}");
    CHECK(formatted(once) == once);
  }
}

TEST_CASE("fmt: bytes at the edges") {
  CHECK(formatted("").empty());
  CHECK(formatted("\n\n \n").empty());
  CHECK(formatted("# only a comment") == "# only a comment\n");
  CHECK(formatted("\xEF\xBB\xBFx=1\r\n\r\n\r\ny=2\r\n") == "x = 1\n\ny = 2\n");
  CHECK(formatted("s = '''a\r\n  b '''") == "s = '''a\r\n  b '''\n");
  CHECK(formatted("x = \"é\" # ü") == "x = \"é\"  # ü\n");
}

TEST_CASE("fmt: what does not parse is refused with its errors") {
  CHECK_THROWS_AS(formatted("x = (1"), Error);
  CHECK_THROWS_AS(formatted("x = \xff"), Error);
}

TEST_CASE("fmt: what is formatted stays as it is, however deep or long") {
  std::string deep;
  for (int i = 0; i < 150; ++i) deep += "f(";
  deep += "1" + std::string(150, ')');
  const std::string once = formatted(deep);
  CHECK(formatted(once) == once);
}

TEST_CASE("fmt: length costs no more than its size") {
  const auto repeated = [](const std::string& begin, const std::string& part, int n, const std::string& end) {
    std::string text = begin;
    for (int i = 0; i < n; ++i) text += part;
    return text + end;
  };
  // Seconds of the processor, which other work on the machine does not change.
  const auto seconds = [](const std::string& text) {
    const std::clock_t start = std::clock();
    const std::string once = formatted(text);
    CHECK(formatted(once) == once);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  for (const auto& [begin, part, end] : {std::tuple{"x = 1", " + 1", ""}, std::tuple{"x = [", "[1, 2],\n", "]"}}) {
    const double quarter = seconds(repeated(begin, part, 5000, end)),
                 whole = seconds(repeated(begin, part, 20000, end));
    CHECK(whole < 10 * quarter + 0.1);  // four times as much takes 4 times as long, not 16
  }
}
