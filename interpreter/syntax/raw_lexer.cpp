// Wraps the generated lexer: gives it classes of characters beyond ASCII, converts code points to byte offsets and
// protects its mode stack from underflow. Only this file and parser.cpp include ANTLR.
#include "interpreter/syntax/raw_lexer.hpp"

#include <antlr4-runtime.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "PxlLexer.h"
#include "runtime/base/text/utf8.hpp"

namespace pxl::syntax {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

struct CodePoints {
  char32_t first, last;
};
constexpr CodePoints name_letters[] = {
#define LETTERS(first, last) {first, last},
#define MARKS(first, last)
#include "interpreter/syntax/name_characters.inc"
#undef LETTERS
#undef MARKS
};
constexpr CodePoints name_marks[] = {
#define LETTERS(first, last)
#define MARKS(first, last) {first, last},
#include "interpreter/syntax/name_characters.inc"
#undef LETTERS
#undef MARKS
};

bool is_among(std::span<const CodePoints> ranges, char32_t c) {
  const auto after = std::ranges::upper_bound(ranges, c, {}, &CodePoints::first);
  return after != ranges.begin() && c <= std::prev(after)->last;
}

/// The character that represents one beyond ASCII in the grammar.
char32_t representative(char32_t c) {
  constexpr char32_t any_letter = 0xAA, any_mark = 0x300;
  return is_among(name_letters, c) ? any_letter : is_among(name_marks, c) ? any_mark : c;
}

class GuardedLexer : public pxl_grammar::PxlLexer {
 public:
  using PxlLexer::PxlLexer;
  // ANTLR throws from nextToken if the mode stack is empty.
  size_t popMode() override { return modeStack.empty() ? mode : PxlLexer::popMode(); }
};

/// A text as code points: its own bytes if all are ASCII, otherwise a list. ANTLR's streams copy the text to four bytes
/// per character.
class CodePointStream final : public antlr4::CharStream {
 public:
  void read(std::string_view ascii) { ascii_ = ascii, size_ = ascii.size(); }
  void read(std::u32string points) { points_ = std::move(points), size_ = points_.size(); }

  void consume() override {
    if (at_ >= size_) throw antlr4::IllegalStateException("no character is left");
    ++at_;
  }
  size_t LA(ssize_t i) override {
    const size_t at = at_ + static_cast<size_t>(i < 0 ? i : i - 1);  // underflow wraps before the first character
    return i == 0 ? 0 : at < size_ ? point(at) : antlr4::IntStream::EOF;
  }
  size_t index() override { return at_; }
  size_t size() override { return size_; }
  void seek(size_t index) override { at_ = std::min(index, size_); }
  ssize_t mark() override { return -1; }  // the stream never discards characters
  void release(ssize_t) override {}
  std::string getText(const antlr4::misc::Interval& range) override {
    std::string out;
    for (auto i = static_cast<size_t>(range.a); i < size_ && i <= static_cast<size_t>(range.b); ++i)
      append_utf8(out, static_cast<char32_t>(point(i)));
    return out;
  }
  std::string getSourceName() const override { return {}; }
  std::string toString() const override { return {}; }

 private:
  size_t point(size_t at) const { return points_.empty() ? static_cast<unsigned char>(ascii_[at]) : points_[at]; }

  std::string_view ascii_;
  std::u32string points_;  ///< empty for ASCII
  size_t at_ = 0, size_ = 0;
};

}  // namespace

struct RawLexer::Impl {
  explicit Impl(std::string_view text) : bom(text.substr(0, 3) == byte_order_mark ? 3 : 0), lexer(&input) {
    lexer.removeErrorListeners();
    const std::string_view rest = text.substr(bom);
    if (std::all_of(rest.begin(), rest.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
      input.read(rest);
    } else {
      std::u32string points;
      for (size_t i = bom; i < text.size();) {
        offsets.push_back(static_cast<uint32_t>(i));
        points.push_back(representative(next_code_point(text, i)));
      }
      offsets.push_back(static_cast<uint32_t>(text.size()));
      input.read(std::move(points));
    }
    lexer.setInputStream(&input);
  }
  uint32_t offset(size_t code_point) const {
    if (offsets.empty()) return bom + static_cast<uint32_t>(code_point);
    return offsets[std::min(code_point, offsets.size() - 1)];
  }

  uint32_t bom;
  CodePointStream input;
  GuardedLexer lexer;
  std::vector<uint32_t> offsets;  ///< byte offset of each code point; empty if they are equal
};

RawLexer::RawLexer(const SourceFile& source) : impl_(std::make_unique<Impl>(source.text())) {}
RawLexer::~RawLexer() = default;

RawToken RawLexer::next() {
  auto token = impl_->lexer.nextToken();
  if (token->getType() == antlr4::Token::EOF) {
    uint32_t end = impl_->offset(impl_->input.size());
    return {-1, end, end};
  }
  return {static_cast<int>(token->getType()), impl_->offset(token->getStartIndex()),
          impl_->offset(token->getStopIndex() + 1)};
}

void RawLexer::enter_format() { impl_->lexer.pushMode(pxl_grammar::PxlLexer::FORMAT); }
void RawLexer::enter_text(char quote) {
  impl_->lexer.pushMode(quote == '"' ? pxl_grammar::PxlLexer::TEXT_DOUBLE : pxl_grammar::PxlLexer::TEXT_SINGLE);
}
void RawLexer::leave() { impl_->lexer.popMode(); }

}  // namespace pxl::syntax
