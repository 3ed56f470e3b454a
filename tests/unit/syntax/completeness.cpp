// The REPL asks whether a text is whole, the beginning of a whole text, or wrong at once.
#include <doctest/doctest.h>

#include "tests/unit/syntax/show.hpp"

namespace {

std::string state(const std::string& text) {
  switch (pxl::completeness(pxl::add_source("t", text))) {
    case pxl::Completeness::complete: return "complete";
    case pxl::Completeness::incomplete: return "incomplete";
    case pxl::Completeness::invalid: return "invalid";
  }
  return "";
}

}  // namespace

TEST_CASE("complete") {
  for (const char* text : {"", "\n", "x = 1", "x = 1\n", "def f() { return 1 }", "if x {\n a\n}\n", "# remark",
                           "## doc\n\n", "f(a,\nb)"}) {
    CAPTURE(text);
    CHECK(state(text) == "complete");
  }
}

TEST_CASE("incomplete") {
  for (const char* text :
       {"def f() {", "def f() {\n  x = 1\n", "f(a,", "f(a", "x = [1,\n\n2", "x =", "x = 1 +\n", "x = not", "f(x) if",
        "x = \"\"\"abc\n", "x = f\"\"\"a{b", "## doc", "## doc\n", "if a { b } else", "x = {", "x = f(a => "}) {
    CAPTURE(text);
    CHECK(state(text) == "incomplete");
  }
}

TEST_CASE("invalid at once") {
  for (const char* text : {"x = )", "f(a b", "def f()", "x = 'abc", "a b", "x = 1 +\n\n", "def f() {\n  x = = 1\n",
                           "return 1", "\xff", "class A {", "x = 1 }"}) {
    CAPTURE(text);
    CHECK(state(text) == "invalid");
  }
}

TEST_CASE("parse_or_throw") {
  CHECK(pxl::parse_or_throw(pxl::add_source("t", "x = 1"))->body->statements.size() == 1);
  try {
    pxl::parse_or_throw(pxl::add_source("t", "a b\nc d"));
    FAIL("no error");
  } catch (const pxl::Error& e) {
    CHECK(e.all().size() == 2);
    CHECK(e.first().fault == pxl::Fault::refused);
  }
}

TEST_CASE("every reserved word is refused as a name, every declaring word is one") {
  for (const std::string& word : pxl::reserved_words()) {
    CAPTURE(word);
    CHECK_FALSE(pxl::test::parse_text("def " + word + "() { }").tree);
    CHECK(pxl::test::parse_text("a." + word + " = f(" + word + " = 1)").tree);
  }
  for (const std::string& word : pxl::declaring_words()) {
    CAPTURE(word);
    CHECK(pxl::test::parse_text("def " + word + "() { }\n" + word + " = 1").tree);
  }
}
