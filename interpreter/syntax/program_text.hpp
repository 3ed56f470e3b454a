// Program text, assembled from typed pieces, so that data never become code. The pieces are text that this source
// fixes, identifiers, strings, numbers and comments. No std::string converts to program text: each function checks or
// quotes its argument.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

/// A literal in this source, or a part of one: the compiler refuses text that is computed.
class FixedText {
 public:
  constexpr FixedText() = default;
  template <size_t n>
  consteval FixedText(const char (&text)[n]) : text_(text, n - 1) {}

  constexpr std::string_view view() const { return text_; }
  constexpr FixedText substr(size_t from, size_t count = std::string_view::npos) const {
    FixedText part;
    part.text_ = text_.substr(from, count);
    return part;
  }

 private:
  std::string_view text_;
};

class ProgramText {
 public:
  ProgramText() = default;
  ProgramText(FixedText text) : text_(text.view()) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  ProgramText& operator+=(FixedText more) {
    text_ += more.view();
    return *this;
  }
  ProgramText& operator+=(const ProgramText& more) {
    text_ += more.text_;
    return *this;
  }
  friend bool operator==(const ProgramText&, const ProgramText&) = default;
  friend auto operator<=>(const ProgramText&, const ProgramText&) = default;

 private:
  friend class ProgramTextMaker;
  std::string text_;
};

/// Replaces each `{}` in the pattern with a piece; `{{` and `}}` are braces. Throws std::logic_error if the number of
/// pieces differs from the number of `{}`.
ProgramText assemble(FixedText pattern, std::initializer_list<ProgramText> pieces);
ProgramText joined(const std::vector<ProgramText>& pieces, FixedText separator);

/// Whether a text is a name of ASCII characters and not a reserved word.
bool is_identifier(std::string_view text);
/// Throws Error if the name is no identifier.
ProgramText identifier(std::string_view name);
/// A string literal whose value is the text. Quotes, backslashes, control characters and characters that change the
/// direction of a line are escaped; bytes that are not UTF-8 become U+FFFD.
ProgramText string_literal(std::string_view text);
ProgramText number_literal(int64_t value);
/// A number literal. If `narrow` is set, it has the digits of a float32.
ProgramText number_literal(double value, bool narrow);
/// A line that begins with `# `. Characters that a string literal escapes become spaces.
ProgramText comment_line(std::string_view text);

/// Registers the text like pxl::add_source.
const SourceFile& add_source(std::string name, const ProgramText& text);
/// The canonical form of a text that parses (format.hpp).
ProgramText formatted(const ProgramText& text);

}  // namespace pxl
