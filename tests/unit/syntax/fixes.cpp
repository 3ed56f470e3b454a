// The edits that syntax errors offer: the text after the first fix of each error, round by round.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "interpreter/syntax/parse.hpp"
#include "interpreter/syntax/written_use.hpp"

namespace {

using namespace pxl;

std::string fixed(std::string text) {
  for (int round = 0; round < 8; ++round) {
    const SourceFile& source = add_source("fixes.pxl", text);
    const ParseResult result = parse(source);
    if (result.diagnostics.empty() || result.diagnostics[0].fixes.empty()) return text;
    std::vector<Edit> edits = result.diagnostics[0].fixes[0].edits;
    std::stable_sort(edits.begin(), edits.end(), [](const Edit& a, const Edit& b) { return a.at.begin > b.at.begin; });
    for (const Edit& e : edits) text.replace(e.at.begin, e.at.end - e.at.begin, e.text);
  }
  return text;
}

}  // namespace

TEST_CASE("words and symbols of other languages") {
  CHECK(fixed("if x { } elif y { }") == "if x { } else if y { }");
  CHECK(fixed("let mut total = 0") == "total = 0");
  CHECK(fixed("float rate = 0.5") == "rate = 0.5");
  CHECK(fixed("f = lambda x, y: x + y") == "f = (x, y) => x + y");
  CHECK(fixed("g(lambda: 3)") == "g(() => 3)");
  CHECK(fixed("raise ValueError(f\"{n} rows\")") == "fail(f\"{n} rows\")");
  CHECK(fixed("throw \"why\"") == "fail(\"why\")");
  CHECK(fixed("raise NotImplementedError") == "fail(\"NotImplementedError\")");
  CHECK(fixed("del d[\"key\"]") == "d.pop(\"key\")");
  CHECK(fixed("del a.b[0][i + 1]") == "a.b[0].pop(i + 1)");
  CHECK(fixed("x = a && !b || c") == "x = a and not b or c");
  CHECK(fixed("if x === 3 { }") == "if x == 3 { }");
  CHECK(fixed("if x <> 3 { }") == "if x != 3 { }");
  CHECK(fixed("if x = 3 { }") == "if x == 3 { }");
  CHECK(fixed("n++") == "n += 1");
  CHECK(fixed("x := 3") == "x = 3");
  CHECK(fixed("n: int = 3") == "n = 3");
  CHECK(fixed("size = n > 2 ? 10 : 20") == "size = 10 if n > 2 else 20");
  CHECK(fixed("def f() {\n  global count\n}") == "def f() {\n  nonlocal count\n}");
  CHECK(fixed("func f(x) { }") == "def f(x) { }");
  CHECK(fixed("xs = a .* b") == "xs = a * b");
  CHECK(fixed("f = |x| x + 1") == "f = (x) => x + 1");
  CHECK(fixed("// a comment\nx = 1") == "# a comment\nx = 1");
  CHECK(fixed("x = 1 // a comment") == "x = 1 # a comment");
  CHECK(fixed("x = 7 // 2") == "x = 7 // 2");
}

TEST_CASE("statements and lines") {
  CHECK(fixed("a = 1; b = 2;") == "a = 1\nb = 2");
  CHECK(fixed("a = 1;\nb = 2;") == "a = 1\nb = 2");
  CHECK(fixed("print \"x\", y") == "print(\"x\", y)");
  CHECK(fixed("retrun x") == "return x");
  CHECK(fixed("x = a + \\\n  b") == "x = a +\n  b");
  CHECK(fixed("x = a \\\n  + b") == "x = a +\n  b");
  CHECK(fixed("x = a\n    + b\n    - c") == "x = a +\n    b -\n    c");
  CHECK(fixed("x = a\n    / b") == "x = a /\n    b");
  CHECK(fixed("for (int i = 0; i < n; i++) { f(i) }") == "for i in range(n) { f(i) }");
  CHECK(fixed("for i in 1:10 { f(i) }") == "for i in range(1, 11) { f(i) }");
  CHECK(fixed("for i in 0..3 { f(i) }") == "for i in range(0, 3) { f(i) }");
  CHECK(fixed("s = sum(x * x for x in xs)") == "s = sum([x * x for x in xs])");
  CHECK(fixed("stream x: float32[4]") == "stream in x: float32[4]");
  CHECK(fixed("stream y = x + 1") == "stream out y = x + 1");
  CHECK(fixed("assert (n > 0, \"small\")") == "assert n > 0, \"small\"");
}

TEST_CASE("brackets and blocks") {
  CHECK(fixed("if x > 1:\n  f(x)\nelse:\n  g(x)\nh()") == "if x > 1 {\n  f(x)\n}\nelse {\n  g(x)\n}\nh()");
  CHECK(fixed("if x: f(x)") == "if x { f(x) }");
  CHECK(fixed("def f(x)\n{\n  return x\n}") == "def f(x) {\n  return x\n}");
  CHECK(fixed("if x > 1\n  f(x)\n}") == "if x > 1 {\n  f(x)\n}");
  CHECK(fixed("x = [1, 2\ny = 3") == "x = [1, 2]\ny = 3");
  CHECK(fixed("print(len(x)  # why\ny = 3") == "print(len(x))  # why\ny = 3");
  CHECK(fixed("x = [\n  1,\n  2\ny = 3") == "x = [\n  1,\n  2\n]\ny = 3");
  CHECK(fixed("d = {\n  \"a\": 1\n  \"b\": 2\n}") == "d = {\n  \"a\": 1,\n  \"b\": 2\n}");
  CHECK(fixed("f(a b)") == "f(a, b)");
  CHECK(fixed("def f(xs) {\n  for x in xs {\n    g(x)\n  return xs\n}") ==
        "def f(xs) {\n  for x in xs {\n    g(x)\n  }\n  return xs\n}");
  CHECK(fixed("def f(x) {\n  if x {\n    g()\n    }\n  }\n  return x\n}") ==
        "def f(x) {\n  if x {\n    g()\n  }\n  return x\n}");
}

TEST_CASE("a name's use in the text") {
  const SourceFile& source = add_source("use.pxl", "y = f(a).b.permute(0, key = 2)[1] + np.random.rand(3, g(4, 5))");
  const auto use_at = [&](std::string_view word) {
    const auto at = static_cast<uint32_t>(source.text().find(word));
    return written_use({&source, at, at + static_cast<uint32_t>(word.size())});
  };
  const WrittenUse permute = use_at("permute");
  CHECK(permute.base.text() == "f(a).b");
  CHECK(permute.call.text() == "f(a).b.permute(0, key = 2)");
  REQUIRE(permute.values.size() == 2);
  CHECK(permute.values[1].text() == "2");
  CHECK(filled_form("{base}.transpose([{args}])", permute) == "f(a).b.transpose([0, key = 2])");
  const WrittenUse random = use_at("np");
  CHECK(random.path_text() == "np.random.rand");
  CHECK(random.arguments.text() == "3, g(4, 5)");
  CHECK(filled_form("{0} @ {1}", random) == "3 @ g(4, 5)");
  CHECK(filled_form("{2}", random).empty());
}
