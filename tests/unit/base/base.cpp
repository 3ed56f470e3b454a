// Sources, suggestions, the interrupt flag, and files written whole or not at all.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/base/diagnostics/source.hpp"
#include "runtime/base/effects.hpp"
#include "runtime/base/files/atomic_file.hpp"
#include "runtime/base/files/mapped_file.hpp"
#include "runtime/base/files/output_file.hpp"
#include "runtime/base/limits/interrupt.hpp"
#include "runtime/base/text/append_line.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/utf8.hpp"
#include "runtime/base/text/wrap.hpp"
#include "tests/unit/support/files.hpp"

using namespace pxl;
using namespace pxl::test;
namespace fs = std::filesystem;

TEST_CASE("positions count code points from 1") {
  SourceFile file("x", "ab\n日本x\r\n\nend");
  CHECK(file.line_count() == 4);
  CHECK(file.position(0).line == 1);
  CHECK(file.position(2).column == 3);
  CHECK(file.position(9).line == 2);
  CHECK(file.position(9).column == 3);
  CHECK(file.position(10000).line == 4);
  CHECK(file.position(10000).column == 4);
  CHECK(file.line(2) == "日本x");
  CHECK(file.line(3).empty());
  CHECK(file.line(0).empty());
  CHECK(file.line(5).empty());
  CHECK(file.line_start(2) == 3);
}

TEST_CASE("spans join") {
  const SourceFile& file = add_source("x", "abcdef");
  Span a{&file, 1, 2}, b{&file, 4, 5};
  CHECK(join(b, a).text() == "bcde");
  CHECK(join({}, a).text() == "b");
  CHECK(join(a, {}).text() == "b");
  CHECK(join(a, {&add_source("y", "zz"), 0, 1}).text() == "b");
  CHECK_FALSE(join({}, {}));
}

TEST_CASE("display width") {
  CHECK(display_width("abc") == 3);
  CHECK(display_width("日本") == 4);
  CHECK(display_width("e\xCC\x81") == 1);
  CHECK(display_width("é∂") == 2);
  CHECK(display_width("\xF0\x9F\x98\x80") == 2);
  CHECK(display_width("\xFF\xC3") == 2);
}

TEST_CASE("cleaned text has no control characters, and no bytes that are no UTF-8") {
  for (const char* clean : {"", "plain\n\ttext", "größe 日本 \xF0\x9F\x98\x80", "\xEF\xBF\xBD"}) {
    CHECK(is_clean(clean));
    CHECK(cleaned(clean) == clean);
  }
  const std::string replaced = "\xEF\xBF\xBD";
  CHECK(cleaned("a\x1b[31mb") == "a" + replaced + "[31mb");
  CHECK(cleaned("a\rb\x07\x08\x7f") == "a" + replaced + "b" + replaced + replaced + replaced);
  CHECK(cleaned(std::string_view("\0", 1)) == replaced);
  CHECK(cleaned("\xC2\x9B"
                "31m") == replaced + "31m");  // CSI as C1
  CHECK(cleaned("\x9B"
                "31m") == replaced + "31m");  // the same as a byte
  CHECK(cleaned("caf\xE9") == "caf" + replaced);
  for (int c = 0; c < 256; ++c) CHECK(is_clean(cleaned(std::string{'a', static_cast<char>(c), 'b'})));
  CHECK_FALSE(is_clean("ok\x1b"));
}

TEST_CASE("diagnostics have no control characters but those of colours") {
  const std::string bad = "\x1b]0;\x07\xC2\x9B\r";
  const SourceFile& file = add_source("file" + bad, "x = 1" + bad);
  auto frame = std::make_shared<const Frame>(Frame{"in" + bad, {&file, 0, 1}, nullptr});
  const Diagnostic d{Severity::error, Fault::refused, "message" + bad, {&file, 0, 1}, {"note" + bad}, frame, {}};
  CHECK(is_clean(render(d)));
  CHECK(is_clean(render(d, false, 30)));
  std::string coloured = render(d, true);
  for (size_t at; (at = coloured.find("\x1b[")) != coloured.npos;) coloured.erase(at, coloured.find('m', at) + 1 - at);
  CHECK(is_clean(coloured));
}

TEST_CASE("one of several processes writes, and all meet after it") {
  const TemporaryFolder folder;
  const std::string log = folder / "log.jsonl", text = folder / "text";
  std::vector<std::string> met;
  const auto gate = [&](bool writes) {
    set_file_gate({writes, [&](const std::string& path) { met.push_back(path); }});
  };
  for (const bool writes : {false, true, false}) {
    gate(writes);
    append_line(log, "one");
    write_file_atomically(text, "text");
  }
  set_file_gate({});
  CHECK(met == std::vector<std::string>{log, text, log, text, log, text});
  CHECK(content(log) == "one\n");
  CHECK(content(text) == "text");
}

TEST_CASE("no file is opened for writing where that is no effect that is permitted") {
  const TemporaryFolder folder;
  const std::string path = folder / "file";
  {
    const EffectScope look(Effect::reads_files);
    CHECK_THROWS_AS(append_line(path, "a"), Unevaluated);
    CHECK_THROWS_AS(write_file_atomically(path, "a"), Unevaluated);
    CHECK_THROWS_AS(map_unnamed_file(folder.path.string(), 10), Unevaluated);
    for (const Opening opening :
         {Opening::present, Opening::open_file, Opening::leftover, Opening::appended, Opening::fresh, Opening::unnamed})
      CHECK_THROWS_AS(open_to_write(path, opening), Unevaluated);
  }
  CHECK_FALSE(fs::exists(path));
  append_line(path, "a");
  CHECK(content(path) == "a\n");
}

TEST_CASE("near names are suggested") {
  std::vector<std::string> names{"weight", "bias", "softmax", "x", "ReLU"};
  CHECK(nearest("wieght", names) == "weight");
  CHECK(nearest("bais", names) == "bias");
  CHECK(nearest("softmx", names) == "softmax");
  CHECK(nearest("relu", names) == "ReLU");
  CHECK(nearest("y", names) == std::nullopt);
  CHECK(nearest("gradient", names) == std::nullopt);
  CHECK(nearest("", names) == std::nullopt);
  CHECK(nearest(std::string(100000, 'a'), names) == std::nullopt);
  CHECK(nearest("cat", {"bat", "car"}) == "bat");
  CHECK(nearest("hidden", {"input_size", "hidden_layers", "hidden_size"}) == "hidden_size");
  CHECK(nearest("hidden_size", {"input", "hidden"}) == "hidden");
  CHECK(nearest("size", {"resize", "sizes_of"}) == std::nullopt);
  CHECK(did_you_mean("wieght", names) == "did you mean `weight`?");
  CHECK(meant_name("unknown name `wieght`\n" + did_you_mean("wieght", names)) == "weight");
  CHECK(!meant_name("did you mean `").has_value());
  CHECK(did_you_mean("nothing_like_it", names).empty());
}

TEST_CASE("an interrupt is thrown once") {
  clear_interrupt();
  check_interrupt();
  request_interrupt();
  CHECK(interrupt_requested());
  CHECK_THROWS_AS(check_interrupt(), Interrupted);
  CHECK_FALSE(interrupt_requested());
  check_interrupt();
}

TEST_CASE("files are replaced whole") {
  TemporaryFolder folder;
  std::string file = folder.path / "a.bin";
  write_file_atomically(file, std::string_view("one\0two", 7));
  CHECK(content(file).size() == 7);
  ::chmod(file.c_str(), 0600);
  write_file_atomically(file, "second");
  CHECK(content(file) == "second");
  struct stat info {};
  ::stat(file.c_str(), &info);
  CHECK((info.st_mode & 0777) == 0600);
  fs::create_symlink("a.bin", folder.path / "link");
  write_file_atomically(folder.path / "link", "third");
  CHECK(fs::is_symlink(folder.path / "link"));
  CHECK(content(file) == "third");
  CHECK(folder.entries() == 2);
  write_file_atomically("/dev/null", "gone");
}

TEST_CASE("a write that fails names the file, and leaves nothing behind") {
  TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(write_file_atomically("/nowhere/at/all", "x"),
                       "cannot write /nowhere/at/all: No such file or directory", Error);
  CHECK_THROWS_AS(write_file_atomically(folder.path, "x"), Error);
  CHECK(fs::is_empty(folder.path));
}
