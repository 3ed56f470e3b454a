// Wrapping of text at words.
#include "runtime/base/wrap.hpp"

#include <doctest/doctest.h>

using namespace pxl;

TEST_CASE("lines are wrapped at words, below the text of their row") {
  CHECK(wrap_lines("one two three", 100) == "one two three");
  CHECK(wrap_lines("one two three", 7) == "one two\nthree");
  CHECK(wrap_lines("one\n\ntwo three\n", 5) == "one\n\ntwo\nthree\n");
  CHECK(wrap_lines("  one two three", 9) == "  one two\n  three");
  CHECK(wrap_lines("  --flag N  one two three", 20) == "  --flag N  one two\n            three");
  CHECK(wrap_lines("aaaaaaaaaaaa b", 5) == "aaaaaaaaaaaa\nb");
}
TEST_CASE("programs and words are not cut") {
  CHECK(wrap_lines("    x = one + two + three", 10) == "    x = one + two + three");
  CHECK(wrap_lines("\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9", 6) == "\xc3\xa9\xc3\xa9\xc3\xa9 \xc3\xa9\xc3\xa9");
}
