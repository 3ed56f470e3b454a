// Source texts and places in them. Every text that is ever parsed stays alive until the process ends. A Span is
// therefore a plain value that may be stored anywhere (in the AST, in ops, in diagnostics).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

/// A 1-based line and a 1-based column counted in code points.
struct Position {
  int line = 1;
  int column = 1;
};

class SourceFile {
 public:
  SourceFile(std::string name, std::string text);

  const std::string& name() const { return name_; }
  std::string_view text() const { return text_; }
  int line_count() const { return static_cast<int>(line_starts_.size()); }
  /// Line and column of a byte offset; offsets past the end return the end.
  Position position(uint32_t offset) const;
  /// The text of a 1-based line without its line ending.
  std::string_view line(int number) const;
  /// The byte offset at which a 1-based line begins.
  uint32_t line_start(int number) const;

 private:
  std::string name_;
  std::string text_;
  std::vector<uint32_t> line_starts_;
};

/// Registers a text under the name that diagnostics show ("mnist.pxl", "<stdin>", "[3]" for a REPL cell).
/// Never freed: spans point into it.
const SourceFile& add_source(std::string name, std::string text);

/// A half-open range of byte offsets in a source; `file` is null if no text is involved.
struct Span {
  const SourceFile* file = nullptr;
  uint32_t begin = 0;
  uint32_t end = 0;

  explicit operator bool() const { return file != nullptr; }
  std::string_view text() const { return file ? file->text().substr(begin, end - begin) : std::string_view{}; }
};

/// The smallest span that covers both (both in one file; a null span is ignored).
Span join(Span a, Span b);

/// Columns that a terminal uses for UTF-8 text (wide characters count two, combining ones none).
int display_width(std::string_view utf8);

}  // namespace pxl
