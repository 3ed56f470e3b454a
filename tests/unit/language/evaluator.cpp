// The evaluator from C++: the answers of run_more, call chains, options, depth, and what must not leak or crash.
#include <doctest/doctest.h>

#include "interpreter/language/evaluator.hpp"
#include "interpreter/language/names/foreign_names.hpp"
#include "interpreter/language/options.hpp"
#include "interpreter/language/stdlib.hpp"
#include "interpreter/syntax/ast.hpp"
#include "interpreter/syntax/parse.hpp"
#include "tests/unit/support/host_session.hpp"

using namespace pxl;
using namespace pxl::test;

TEST_CASE("run_more gives the value of a final expression and keeps names") {
  HostSession s;
  CHECK(s.run("x = 2").is_none());
  CHECK(s.shown("x + 1") == "3");
  CHECK(s.shown("[x, 'a', none, true, 1.0]") == "[2, 'a', none, true, 1.0]");
  s.run("print(x, 'y', sep = '-', end = '!')");
  CHECK(s.out == "2-y!");
}

TEST_CASE("errors carry the innermost place and the call chain") {
  HostSession s;
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
  HostSession s;
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
      return repr_of(in, evaluator_of(in).run_more(parse_or_throw(add_source("o.pxl", text))));
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

TEST_CASE("names of other languages are unknown here, and what is written in their place is not") {
  HostSession s;
  // Code stands in backticks; a name before a bracket is a function of the language.
  const auto check = [&](const ForeignName& foreign) {
    for (size_t begin = foreign.way_out.find('`'); begin != std::string_view::npos;) {
      const size_t end = foreign.way_out.find('`', begin + 1);
      REQUIRE(end != std::string_view::npos);
      const std::string code(foreign.way_out.substr(begin + 1, end - begin - 1));
      begin = foreign.way_out.find('`', end + 1);
      if (code == foreign.name || code.find("...") != std::string::npos) continue;
      CAPTURE(code);
      const std::string text = code.starts_with("param ") ? "module Net {\n  build(x) {\n" + code + "\n}\n}" : code;
      CHECK(parse(add_source("way_out.pxl", text)).diagnostics.empty());
      size_t length = 0;
      while (length < code.size() && (std::isalnum(static_cast<unsigned char>(code[length])) || code[length] == '_'))
        ++length;
      const std::string called = code.substr(0, length);
      const bool example = called == "backward" || called == "net" || called == "Net";
      if (length < code.size() && code[length] == '(' && !example && !library_import(called))
        CHECK(s.error(called).empty());
    }
  };
  for (const ForeignName& foreign : foreign_names()) {
    CAPTURE(foreign.name);
    CHECK(s.error(std::string(foreign.name)) == "unknown name `" + std::string(foreign.name) + "`");
    check(foreign);
  }
  for (const ForeignName& foreign : foreign_methods()) {
    CAPTURE(foreign.name);
    const std::string name(foreign.name);
    CHECK(s.error("constant([1.0])." + name + "()") == "a tensor has no member `" + name + "`");
    check(foreign);
  }
}

TEST_CASE("the tree of a text ends with the last value that was made of it") {
  HostSession s;
  const auto tree_of = [&](const std::string& text) {
    ast::TreePtr tree = parse_or_throw(add_source("[tree]", text));
    evaluator_of(s.in).run_more(tree);
    return std::weak_ptr<const ast::Tree>(tree);
  };
  for (const char* text :
       {"1 + 2", "x = [1, 'two']", "for i in range(3) { x.append(i) }", "[i * i for i in range(3)]", "(a => a + 1)(2)",
        "import nn", "test \"t\" { assert true }", "sorted([2, 1], key = a => -a)"})
    CHECK_MESSAGE(tree_of(text).expired(), std::string(text));
  // A text whose value keeps a tree, a use of the value, and the shown result.
  struct Kept {
    const char *text, *use, *shown;
  };
  for (const Kept& kept : {Kept{"f = a => a + 1", "f(2)", "3"},
                           {"def f(a, b = [1]) { return [a, b] }", "f(2)", "[2, [1]]"},
                           {"outlined def f(a) { return a }", "f", "<outlined function f>"},
                           {"def g() { return () => 5 }\nf = g()\ng = none", "f()", "5"},
                           {"module M(n = 2) { def twice() { return 2 * n } }\nf = M().twice\nM = none", "f()", "4"},
                           {"module M(n = 2) { build(x) { return x * n } }\nf = M()\nM = none", "f", "M(n = 2)"},
                           {"program p { variable w: float32[2] = 3 }\nf = p", "f().w.shape", "(2,)"},
                           {"f = [[a => a]]", "f[0][0](6)", "6"}}) {
    const auto tree = tree_of(kept.text);
    CHECK_MESSAGE(!tree.expired(), std::string(kept.text));
    CHECK_MESSAGE(s.shown(kept.use) == kept.shown, std::string(kept.text));
    s.run("f = g = p = M = none");
    evaluator_of(s.in).free_captured();
    CHECK_MESSAGE(tree.expired(), std::string(kept.text));
  }
  // The statement of a stream stays with its program: a loop reaches it again.
  const auto stream = tree_of("for i in range(2) { stream out total: float32[] = variable(1.0) }");
  CHECK_FALSE(stream.expired());
}

TEST_CASE("values that hold each other in a circle end when nothing else holds them") {
  HostSession s;
  const auto ended = [&](const std::string& text) {
    s.run(text);
    const Value* made = evaluator_of(s.in).file_scope()->find_here("made");
    REQUIRE(made);
    const WeakRef<Object> object = made->object();
    s.run("made = none");
    evaluator_of(s.in).free_captured();
    return object.expired();
  };
  for (const char* text :
       {"def maker() { def again(n) { return again(n - 1) }\n held = [again]\n return held }\nmade = maker()",
        "def maker() { xs = []\n xs.append(() => xs)\n return xs }\nmade = maker()",
        "def maker() { d = {}\n d['f'] = () => d\n return d }\nmade = maker()",
        "module Node { other = none }\ndef maker() { a = Node()\n b = Node()\n a.other = b\n b.other = a\n return a "
        "}\nmade = maker()",
        "def maker() { for i in range(2) { t = [i]\n t.append(() => t) }\n return t }\nmade = maker()"})
    CHECK_MESSAGE(ended(text), std::string(text));
  // A part of a circle that something else holds keeps all of it.
  s.run("def maker() { xs = [7]\n xs.append(() => xs)\n return xs }\nkept = maker()[1]");
  evaluator_of(s.in).free_captured();
  CHECK(s.shown("kept()[0]") == "7");
}
