// Wrapping of text at words.
#include "runtime/base/text/wrap.hpp"

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
TEST_CASE("escape sequences have no width") {
  CHECK(visible_width("\x1b[1;31mab\x1b[0m c") == 4);
  CHECK(wrap_lines("\x1b[1mone two\x1b[0m three", 7) == "\x1b[1mone two\x1b[0m\nthree");
  CHECK(wrap_words("two three", 12, 4, 2) == "two\n  three");
}
TEST_CASE("diagnostics are wrapped, and excerpts cut around their place") {
  const SourceFile& file = add_source("a.pxl", "first = 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + missing + 10 + 11 + 12\n");
  Diagnostic d{Severity::error,
               Fault::refused,
               "unknown name `missing` in this rather long sum",
               {&file, 40, 47},
               {"did you mean `first`, perhaps, or is it another one?"},
               nullptr};
  CHECK(render(d, false, 0) == render(d));
  CHECK(render(d, false, 200) == render(d));
  CHECK(render(d, false, 40) ==
        "a.pxl:1:41: error: unknown name\n    `missing` in this rather long sum\n    [value]\n"
        "    1 | ... 7 + 8 + missing + 10 + 1 ...\n      |             ^~~~~~~\n"
        "  did you mean `first`, perhaps, or is\n  it another one?\n");
}
