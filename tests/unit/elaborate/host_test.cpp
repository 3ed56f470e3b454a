// The evaluator from C++: the answers of run_more, call chains, options, depth, and what must not leak or crash.
#include <doctest/doctest.h>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "interpreter/values/containers.hpp"
#include "interpreter/values/interpreter.hpp"
#include "interpreter/values/value.hpp"

using namespace pxl;

namespace {

struct Session {
  std::string out;
  Interpreter in;
  Session()
      : in([this] {
          InterpreterOptions o;
          o.out = [this](std::string_view t) { out += t; };
          return o;
        }()) {}
  Value run(const std::string& text) { return in.evaluator().run_more(parse_or_throw(add_source("[1]", text))); }
  std::string shown(const std::string& text) { return in.repr(run(text)); }
  std::string error(const std::string& text) {
    try {
      run(text);
    } catch (const Error& e) {
      return e.first().message;
    }
    return "";
  }
};

}  // namespace

TEST_CASE("run_more gives the value of a final expression and keeps names") {
  Session s;
  CHECK(s.run("x = 2").is_none());
  CHECK(s.shown("x + 1") == "3");
  CHECK(s.shown("[x, 'a', none, true, 1.0]") == "[2, 'a', none, true, 1.0]");
  s.run("print(x, 'y', sep = '-', end = '!')");
  CHECK(s.out == "2-y!");
}

TEST_CASE("errors carry the innermost place and the call chain") {
  Session s;
  try {
    s.run("def f(a) { return a + missing }\ndef g() { return f(1) }\ng()");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.first().message == "unknown name `missing`");
    CHECK(e.first().span.text() == "missing");
    REQUIRE(e.first().frames);
    CHECK(e.first().frames->what == "f");
    CHECK(e.first().frames->at.text() == "f(1)");
    REQUIRE(e.first().frames->outer);
    CHECK(e.first().frames->outer->what == "g");
    CHECK_FALSE(e.first().frames->outer->outer);
  }
  CHECK(FramePtr(s.in.frames) == nullptr);
  try {
    s.run("a = ones([2, 3])\nb = 1 + a @ a");
    FAIL("no error");
  } catch (const Error& e) {
    CHECK(e.first().span.text() == "a @ a");
  }
}

TEST_CASE("endless recursion is an error, and the interpreter works on") {
  Session s;
  CHECK(s.error("def f(n) { return f(n + 1) }\nf(0)") == "recursion too deep");
  CHECK(s.error("l = []\nl.append(l)\nm = []\nm.append(m)\nl == m") == "recursion too deep");
  s.run("l.clear()\nm.clear()");
#if !defined(__SANITIZE_ADDRESS__)
  CHECK(s.shown("def deep(n) { return 0 if n == 0 else 1 + deep(n - 1) }\ndeep(1000)") == "1000");
#endif
  CHECK(s.shown("1 + 1") == "2");
}

TEST_CASE("options are listed without running, and parsed by type") {
  const ast::TreePtr tree = parse_or_throw(add_source(
      "o.pxl", "# What it does.\n## Size of a batch.\noption batch: int = 4 * 2\noption rate: float\nprint(1 / 0)\n"));
  const auto options = scan_options(*tree);
  REQUIRE(options.size() == 2);
  CHECK(options[0].name == "batch");
  CHECK(options[0].type == "int");
  CHECK(options[0].default_text == "4 * 2");
  CHECK(options[0].doc == "Size of a batch.");
  CHECK_FALSE(options[0].required);
  CHECK(options[1].required);

  auto with = [](std::map<std::string, std::string> given, const std::string& text) {
    InterpreterOptions o;
    o.options = std::move(given);
    Interpreter in(o);
    try {
      return in.repr(in.evaluator().run_more(parse_or_throw(add_source("o.pxl", text))));
    } catch (const Error& e) {
      CHECK(e.first().fault == Fault::usage);
      return e.first().message;
    }
  };
  CHECK(with({{"n", "12"}}, "option n: int = 1\nn") == "12");
  CHECK(with({{"n", "3"}}, "option n: float\nn") == "3.0");
  CHECK(with({{"n", "off"}}, "option n: bool = true\nn") == "false");
  CHECK(with({{"n", "1,2"}}, "option n: list[int] = []\nn") == "[1, 2]");
  CHECK(with({{"n", "1.5"}}, "option n: int = 1\nn") == "--n: expected an int, got `1.5`");
  CHECK(with({}, "option n: int\nn") == "option `n` has no default and was not given");
}

TEST_CASE("dict keys: equal values are one key") {
  CHECK(key_of(Value(1)) == key_of(Value(1.0)));
  CHECK(key_of(Value(1)) == key_of(Value(true)));
  CHECK(key_of(Value("1")) != key_of(Value(1)));
  CHECK(key_of(make_tuple({Value("a"), Value("b")})) != key_of(make_tuple({Value("a,1:b")})));
  CHECK_FALSE(key_of(make_list({})));
}

TEST_CASE("numbers at the edges") {
  Session s;
  CHECK(s.error("2 ** 64") == "2 ** 64 does not fit a 64-bit int");
  CHECK(s.shown("(-2) ** 63") == "-9223372036854775808");
  CHECK(s.shown("range(-9223372036854775807, 9223372036854775807, 9223372036854775807)[1]") == "0");
  CHECK(s.error("range(9223372036854775807)[9223372036854775807]")
            .starts_with("index 9223372036854775807 is out of range"));
  CHECK(s.shown("[1, 2, 3][::-9223372036854775807]") == "[3]");
  CHECK(s.shown("arange(5)[4:0:-2]") == "array([4, 2], int32)");
  CHECK(s.shown("round(-0.5), round(1.5), round(1234, -2), round(0.15, 1)") == "(0, 2, 1200, 0.1)");
}

TEST_CASE("index arrays and masks follow NumPy's placement of axes") {
  Session s;
  s.run("a = arange(24).reshape(2, 3, 4)");
  CHECK(s.shown("a[:, [0, 2], 1].shape") == "(2, 2)");
  CHECK(s.shown("a[[0, 1], :, [1, 2]].tolist()") == "[[1, 5, 9], [14, 18, 22]]");
  CHECK(s.shown("a[a > 21].tolist()") == "[22, 23]");
  CHECK(s.shown("a[..., none].shape, a[none, 0].shape") == "((2, 3, 4, 1), (1, 3, 4))");
  CHECK(s.shown("a[:, array([true, false, true])].shape") == "(2, 2, 4)");
  s.run("b = a.copy()\nb[:, 1] = [9, 9, 9, 9]\nb[a > 20] = 0");
  CHECK(s.shown("b[:, 1].tolist(), b[1, 2].tolist(), a[0, 1].tolist()") ==
        "([[9, 9, 9, 9], [9, 9, 9, 9]], [20, 0, 0, 0], [4, 5, 6, 7])");
  CHECK(s.error("a[0, 0, 0, 0]") == "too many subscripts: 4 for an array of shape [2, 3, 4]");
  CHECK(s.error("a[[5]]").starts_with("index 5 is out of range for axis 0"));
}
