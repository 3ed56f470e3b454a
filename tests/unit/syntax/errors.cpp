// Messages with their exact places: habits from other languages, slips, brackets, several errors in one text.
#include <doctest/doctest.h>

#include "tests/unit/syntax/show.hpp"

using pxl::test::errors;

TEST_CASE("habits from other languages") {
  CHECK(errors("if x { } elif y { }") == "1:10-14 `elif` is written `else if`");
  CHECK(errors("class Foo { }") == "1:1-6 there are no classes");
  CHECK(errors("let x = 3") == "1:1-4 a name is bound without `let`");
  CHECK(errors("try { x }") == "1:10-10 this `try` has no `catch` and no `finally`");
  CHECK(errors("catch { x }") == "1:1-6 this `catch` has no `try`");
  CHECK(errors("if x { } finally { }") == "1:10-17 this `finally` has no `try`");
  CHECK(errors("x = try a if b else c") == "1:11-13 a conditional between `try` and its `else` needs brackets");
  CHECK(errors("try { x } except { y }") == "1:11-17 `except` is written `catch`");
  CHECK(errors("raise E") == "1:1-6 there is no `raise`");
  CHECK(errors("f = lambda x: x") == "1:5-11 a lambda is written `(x) => expression`");
  CHECK(errors("x = yield 3") == "1:5-10 there are no generators: `yield` is reserved");
  CHECK(errors("del x") == "1:1-4 names are not deleted: `del` is reserved");
  CHECK(errors("x = [True, False, None]") ==
        "1:6-10 `True` is written `true` | 1:12-17 `False` is written `false` | 1:19-23 `None` is written `none`");
  CHECK(errors("x = a && b") == "1:7-9 `&&` is written `and`");
  CHECK(errors("x = a || b") == "1:7-9 `||` is written `or`");
  CHECK(errors("x = !a") == "1:5-6 `!` is written `not`");
  CHECK(errors("x++\ny = 1") == "1:2-4 there is no `++`");
  CHECK(errors("--x") == "1:1-3 there is no `--`");
  CHECK(errors("x = 1; y = 2") == "1:6-7 a statement ends at the end of its line, without `;`");
  CHECK(errors("x -> y") == "1:3-5 `->` has no meaning here");
  CHECK(errors("def f(x):\n  return x").starts_with("1:9-10 a block is written in braces: `{ ... }`, without `:`"));
  CHECK(errors("if x: y") == "1:5-6 a block is written in braces: `{ ... }`, without `:`");
  CHECK(errors("if x = 3 { }") == "1:6-7 `=` binds a name; compare with `==`");
  CHECK(errors("while x = 3 { }") == "1:9-10 `=` binds a name; compare with `==`");
  CHECK(errors("if x === 3 { }") == "1:6-9 `===` is written `==`");
  CHECK(errors("x := 3") == "1:3-4 there is no `:=`");
  CHECK(errors("x: int = 3") == "1:2-3 a name is bound without its type");
  CHECK(errors("x ? y : z") == "1:3-4 `?` has no meaning here");
  CHECK(errors("x = a \\\n + b") == "1:7-8 a line is not continued with `\\`");
  CHECK(errors("@jit\ndef f() { }") == "1:1-2 there are no decorators");
  CHECK(errors("func f(x) { }") == "1:1-5 a function is declared with `def`");
  CHECK(errors("var x = 3") == "1:1-4 a name is bound without `var`");
  CHECK(errors("print \"x\"") == "1:1-6 a call needs parentheses: `print(...)`");
  CHECK(errors("x = \u201Ca\u201D") == "1:5-6 unexpected character `\u201C` (U+201C)");
  CHECK(errors("gr\u00F6\u00DFe\u2192\u03A9 = 1") == "1:6-7 unexpected character `\u2192` (U+2192)");
  CHECK(errors("\u0301x = 1") == "1:1-2 unexpected character U+0301");
}

TEST_CASE("two names: the nearest word that begins a statement") {
  CHECK(errors("progam p { }") == "1:1-7 `progam` cannot begin a statement");
  auto result = pxl::test::parse_text("module M { build(x) {\n parm w: float32[] } }");
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].notes.at(0) == "did you mean `param`?");
  CHECK(errors("form nn import Linear") == "1:1-5 `form` cannot begin a statement");
  CHECK(errors("retrun x") == "1:1-7 `retrun` cannot begin a statement");
  CHECK(errors("stream out: s") == "1:8-11 a stream is `in` or `out`");
}

TEST_CASE("expected tokens are named by class") {
  CHECK(errors("x = 3 4") == "1:7-8 expected the end of the line, found `4`");
  CHECK(errors("x = ") == "1:4-4 expected an expression, found the end of the text");
  CHECK(errors("x = )") == "1:5-6 unmatched `)`");
  CHECK(errors("else { }") == "1:1-5 this `else` has no `if`");
  CHECK(errors("for x { }") == "1:7-8 expected `in`, found `{`");
  CHECK(errors("import 3") == "1:8-9 expected a name, found `3`");
  CHECK(errors("from a b") == "1:8-9 expected `import`, found `b`");
  CHECK(errors("a + not b") == "1:5-8 `not` needs brackets here");
  CHECK(errors("module 3 { }") == "1:8-9 expected a name, found `3`");
  CHECK(errors("option a = 3") == "1:8-9 an option has a type");
  CHECK(errors("f(=)") == "1:3-4 expected an expression or `)`, found `=`");
  CHECK(errors("def f(3) { }") == "1:7-8 expected a name or `)`, found `3`");
  CHECK(errors("x.3") == "1:2-4 expected the end of the line, found `.3`");
}

TEST_CASE("brackets are reported where they open") {
  CHECK(errors("x = foo(a, b\ny = 3") == "1:8-9 `(` is not closed");
  CHECK(errors("x = [1,\n 2") == "1:5-6 `[` is not closed");
  CHECK(errors("f(a\ndef g() { }\nz = 1 1") ==
        "1:2-3 `(` is not closed | 3:7-8 expected the end of the line, found `1`");
  CHECK(errors("def f() {\n  g(a\n}\nx = 1") == "2:4-5 `(` is not closed");
  CHECK(errors("def f() {\n  if x {\n}\n") == "2:8-9 `{` is not closed");
  CHECK(errors("def f() {\n  if x {\n    y\n") == "2:8-9 `{` is not closed");
  CHECK(errors("f(a, b]\ny = 1") == "1:2-3 `(` is closed by `]`");
  CHECK(errors("x = 1\n}\ny = 2 2") == "2:1-2 unmatched `}` | 3:7-8 expected the end of the line, found `2`");
}

TEST_CASE("several errors in one text") {
  CHECK(errors("a b\nc = 1\nd e") ==
        "1:3-4 expected the end of the line, found `b` | 3:3-4 expected the end of the line, found `e`");
  CHECK(errors("def f() {\n  x = = 1\n  y = 2\n  z = = 3\n}\nw = = 4") ==
        "2:7-8 expected an expression, found `=` | 4:7-8 expected an expression, found `=` | 6:5-6 expected an "
        "expression, found `=`");
  CHECK(errors("def f( {\n}\nx = = 1") != "");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "a b\n";
  CHECK(pxl::test::parse_text(many).diagnostics.size() == 20);
}
