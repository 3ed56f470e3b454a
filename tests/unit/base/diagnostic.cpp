// Diagnostics as text: the form of the language's section on errors, to the column.
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/diagnostics/codes.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "runtime/base/diagnostics/source.hpp"

using namespace pxl;

namespace {

Span find(const SourceFile& file, std::string_view what, size_t after = 0) {
  size_t at = file.text().find(what, after);
  REQUIRE(at != std::string_view::npos);
  return {&file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + what.size())};
}

std::string shown(std::string text, std::string_view what) {
  const SourceFile& file = add_source("a.pxl", std::move(text));
  return render({Severity::error, Fault::refused, "bad", find(file, what), {}, nullptr});
}

}  // namespace

TEST_CASE("the example of the language's description") {
  std::string text;
  for (int i = 1; i < 14; ++i) text += "\n";
  text += "    y = x @ weight\n";
  for (int i = 15; i < 31; ++i) text += "\n";
  text += "    x = gelu(fc1(x)); fc2(x)\n";
  const SourceFile& file = add_source("mnist.pxl", text);
  auto frame =
      std::make_shared<const Frame>(Frame{"Linear.build, inlined as fc2 in Net.build", find(file, "fc1(x)"), nullptr});
  Diagnostic d{Severity::error,
               Fault::refused,
               "matmul: inner dimensions differ: 784 (x, axis -1) and 512 (weight, axis 0)",
               find(file, "x @ weight"),
               {"x: float32[8, 784], weight: float32[512, 512]"},
               frame,
               codes::shape};
  CHECK(render(d) ==
        "mnist.pxl:14:9: error: matmul: inner dimensions differ: 784 (x, axis -1) and 512 (weight, axis 0) [shape]\n"
        "   14 |     y = x @ weight\n"
        "      |         ^~~~~~~~~~\n"
        "  x: float32[8, 784], weight: float32[512, 512]\n"
        "  in Linear.build, inlined as fc2 in Net.build at mnist.pxl:31:14\n");
}

TEST_CASE("without a place there is only the message and the notes") {
  CHECK(render(Error("no such file", {"look elsewhere"}).first()) == "error: no such file [value]\n  look elsewhere\n");
  CHECK(render({Severity::warning, Fault::refused, "odd", {}, {"one\ntwo"}, nullptr}) ==
        "warning: odd [value]\n  one\n  two\n");
}

TEST_CASE("carets line up after tabs, wide characters and combining marks") {
  CHECK(shown("\ty = x\n", "x") == "a.pxl:1:6: error: bad [value]\n    1 | \ty = x\n      | \t    ^\n");
  CHECK(shown("s = \"日本\" + t\n", "t") ==
        "a.pxl:1:12: error: bad [value]\n    1 | s = \"日本\" + t\n      |              ^\n");
  CHECK(shown("\"日本\"", "\"日本\"").ends_with("      | ^~~~~~\n"));
  CHECK(shown("e\xCC\x81 + t\n", "t").ends_with("      |     ^\n"));
}

TEST_CASE("spans at the edges") {
  CHECK(shown("x = 1\r\ny = 2", "1\r\ny").ends_with("    1 | x = 1\n      |     ^\n"));
  const SourceFile& file = add_source("b.pxl", "x = (\n");
  Diagnostic d{Severity::error, Fault::refused, "unfinished", {&file, 6, 6}, {}, nullptr};
  CHECK(render(d) == "b.pxl:2:1: error: unfinished [value]\n    2 | \n      | ^\n");
  d.span = {&file, 900, 1000};
  CHECK(render(d) == "b.pxl:2:1: error: unfinished [value]\n    2 | \n      | ^\n");
  d.span = {&add_source("empty.pxl", ""), 0, 0};
  CHECK(render(d) == "empty.pxl:1:1: error: unfinished [value]\n    1 | \n      | ^\n");
}

TEST_CASE("a span of several lines marks the first") {
  CHECK(shown("f(a,\n  b)\n", "f(a,\n  b)") == "a.pxl:1:1: error: bad [value]\n    1 | f(a,\n      | ^~~~\n");
}

TEST_CASE("very long lines are cut around the span") {
  std::string text = shown(std::string(5000, 'a') + " HERE " + std::string(5000, 'b'), "HERE");
  size_t line = text.find('\n') + 1, marks = text.find('\n', line) + 1;
  std::string excerpt = text.substr(line, marks - line), caret = text.substr(marks);
  CHECK(excerpt.size() < 140);
  CHECK(excerpt.starts_with("    1 | ... aaa"));
  CHECK(excerpt.ends_with("bbb ...\n"));
  CHECK(excerpt.find("HERE") == caret.find("^~~~"));
  CHECK(shown(std::string(300, 'a') + "Z", "Z").find("aZ\n") != std::string::npos);
}

TEST_CASE("control characters and broken UTF-8 do not reach the terminal") {
  std::string text = shown("a \x1b[31m \xFF x\n", "x");
  CHECK(text.find('\x1b') == std::string::npos);
  CHECK(text.find('\xFF') == std::string::npos);
}

TEST_CASE("long call chains lose their middle") {
  FramePtr chain;
  for (int i = 99; i >= 0; --i) chain = std::make_shared<const Frame>(Frame{fmt::format("f{}", i), {}, chain});
  std::string text = render({Severity::error, Fault::refused, "deep", {}, {}, chain});
  CHECK(text.find("  in f0\n  in f1\n") != std::string::npos);
  CHECK(text.find("  in f11\n  ... 76 more calls ...\n  in f88\n") != std::string::npos);
  CHECK(text.ends_with("  in f99\n"));
}

TEST_CASE("colours only when asked for") {
  const SourceFile& file = add_source("c.pxl", "x\n");
  Diagnostic d{Severity::error, Fault::refused, "bad", {&file, 0, 1}, {}, nullptr};
  CHECK(render(d, false).find('\x1b') == std::string::npos);
  CHECK(render(d, true).find("\x1b[1;31merror:\x1b[0m") != std::string::npos);
}

TEST_CASE("locating an error fills only what is missing") {
  const SourceFile& file = add_source("d.pxl", "one two\n");
  auto frame = std::make_shared<const Frame>(Frame{"g", {}, nullptr});
  Error error("bad");
  error.locate({&file, 0, 3}, nullptr);
  error.locate({&file, 4, 7}, frame);
  CHECK(error.first().span.text() == "one");
  CHECK(error.first().frames == frame);
  CHECK(run_error("x").first().fault == Fault::failed);
}

TEST_CASE("an error in the library is shown at the call that led there") {
  const SourceFile& library = add_source("<std>/nn.pxl", "outer inner bad\n");
  const SourceFile& user = add_source("mine.pxl", "main()\nfc(x)\n");
  const auto frame = [](std::string what, Span at, FramePtr outer) {
    return std::make_shared<const Frame>(Frame{std::move(what), at, std::move(outer)});
  };
  const FramePtr chain =
      frame("helper", find(library, "inner"),
            frame("Linear.build", find(user, "fc(x)"), frame("main", find(user, "main()"), nullptr)));
  Error e("it is bad");
  e.locate(find(library, "bad"), chain);
  CHECK(render(e.first()) ==
        "mine.pxl:2:1: error: it is bad [value]\n"
        "    2 | fc(x)\n"
        "      | ^~~~~\n"
        "  in the library's helper at <std>/nn.pxl:1:13\n"
        "  in the library's Linear.build at <std>/nn.pxl:1:7\n"
        "  in main at mine.pxl:1:1\n");
  // Located once: what passes it on changes nothing.
  e.locate(find(user, "main()"), nullptr);
  CHECK(e.first().span.begin == find(user, "fc(x)").begin);
  // No call outside the library leads to it.
  Error alone("it is bad");
  alone.locate(find(library, "bad"), nullptr);
  CHECK(alone.first().span.file == &library);
}
