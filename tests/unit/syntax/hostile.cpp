// Texts that are meant to break parsers: depth, length, noise, bytes that are no text.
#include <chrono>
#include <random>

#include <doctest/doctest.h>

#include "tests/fuzz/parse_fuzz.cpp"  // the fuzzer's invariants, on noise that is made here
#include "tests/unit/syntax/show.hpp"

using pxl::test::errors;
using pxl::test::parse_text;
using pxl::test::tree;

namespace {

std::string repeat(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

void survives(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
}

}  // namespace

TEST_CASE("nesting has a limit, and the message says where") {
  CHECK(errors("x = " + repeat("(", 5000) + "1" + repeat(")", 5000)) == "1:205-206 nested deeper than 200 levels");
  CHECK(parse_text("x = " + repeat("(", 200) + "1" + repeat(")", 200)).tree);
  CHECK(parse_text(repeat("if x {", 5000)).diagnostics.at(0).message == "nested deeper than 200 levels");
  for (const char* prefix : {"-", "not ", "~", "(x) => ", "a if b else ", "2 ** ", "f'{"}) {
    CAPTURE(prefix);
    auto result = parse_text("x = " + repeat(prefix, 50000) + "1");
    REQUIRE_FALSE(result.tree);
    CHECK(result.diagnostics.at(0).message == "nested deeper than 200 levels");
    CHECK(result.diagnostics.size() == 1);
  }
  CHECK(errors("x = a" + repeat(".b", 5000)) == "1:5-10006 nested deeper than 200 levels");
  CHECK(errors("x = a" + repeat("()", 5000)) == "1:5-10006 nested deeper than 200 levels");
}

TEST_CASE("length has no limit") {
  auto sum = parse_text("x = 1" + repeat(" + 1", 99999));
  REQUIRE(sum.tree);
  const auto* assign = static_cast<const pxl::ast::AssignStmt*>(sum.tree->body->statements.at(0));
  CHECK(static_cast<const pxl::ast::ChainExpr*>(assign->value)->rest.size() == 99999);
  CHECK(parse_text("x = [" + repeat("1, ", 50000) + "]").tree);
  CHECK(parse_text("if a { }" + repeat(" else if b { }", 5000)).tree);
  CHECK(parse_text(repeat("a = 1\n", 20000)).tree);
  CHECK(parse_text("x = " + repeat("'a' ", 20000)).tree);
  CHECK(parse_text("x = a" + repeat(" < a", 20000) + repeat(" and a", 20000)).tree);
}

TEST_CASE("bytes that are no text") {
  CHECK(errors(std::string("x = 1\ny = \xff\n")) == "2:5-6 byte 0xff is not valid UTF-8");
  CHECK(errors(std::string("\xed\xa0\x80")).ends_with("byte 0xed is not valid UTF-8"));
  CHECK(errors(std::string("\xc0\x80")).ends_with("byte 0xc0 is not valid UTF-8"));
  CHECK(errors(std::string("\xf0\x9f\x98")).ends_with("byte 0xf0 is not valid UTF-8"));
  CHECK(errors(std::string("x\0y", 3)) == "1:2-3 unexpected character U+0000");
  CHECK(tree(std::string("x = 'a\0b'", 9)) == "(x = " + std::string("'a\0b'", 5) + ")");
  CHECK(tree("\xEF\xBB\xBFx = 1\r\ny = 2") == "(x = 1); (y = 2)");
  CHECK(errors("x = 1\n  \u00a0y") == "2:3-4 unexpected character U+00A0");
  CHECK(tree("\u03b2 = \u03b1_1") == "(\u03b2 = \u03b1_1)");
}

TEST_CASE("noise") {
  std::mt19937 random(7);
  const std::string words[] = {"if ",   "else ", "{",        "}",   "(",       ")",     "[",         "]",
                               "\n",    "f\"",   "\"",       "'",   "\"\"\"",  "x",     " ",         ":",
                               "=",     "=>",    ",",        ".",   "module ", "build", "param ",    "stream in ",
                               "def ",  "1",     "1.",       "+",   "-",       "**",    "not ",      "in ",
                               "for ",  "!",     "##d\n",    "#",   "\\",      "ref ",  "outlined ", "test ",
                               "with ", "as ",   "else if ", "{x:", "\xc3\xa9"};
  for (int round = 0; round < 1500; ++round) {
    std::string text;
    for (size_t n = random() % 60; n > 0; --n) text += words[random() % std::size(words)];
    survives(text);
  }
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (size_t n = random() % 200; n > 0; --n) text += static_cast<char>(random() % (round % 2 ? 128 : 256));
    survives(text);
  }
  survives(repeat("}", 20000));
  survives(repeat("f'{", 5000));
  survives(repeat("'", 20001));
  survives(repeat("$ \n", 20000));
}
