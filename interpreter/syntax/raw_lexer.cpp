// Wraps the generated lexer: gives it classes of characters beyond ASCII, converts code points to byte offsets and
// protects its mode stack from underflow. With parser.cpp one of the two files that include ANTLR.
#include "interpreter/syntax/raw_lexer.hpp"

#include <antlr4-runtime.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "PxlLexer.h"
#include "runtime/base/budget.hpp"
#include "runtime/base/utf8.hpp"

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

/// What the grammar has in the place of a character that is not ASCII.
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

/// A text by its code points. ANTLR's own `load` decodes UTF-8 again and grows its string by one code point at a time.
class CodePointStream : public antlr4::ANTLRInputStream {
 public:
  void load_code_points(std::u32string text) { _data = std::move(text); }
};

}  // namespace

struct RawLexer::Impl {
  explicit Impl(std::string_view text) : bom(text.substr(0, 3) == byte_order_mark ? 3 : 0), lexer(&input) {
    lexer.removeErrorListeners();
    std::u32string points;
    if (std::all_of(text.begin() + bom, text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; })) {
      points.assign(text.begin() + bom, text.end());
    } else {
      for (size_t i = bom; i < text.size();) {
        offsets.push_back(static_cast<uint32_t>(i));
        points.push_back(representative(next_code_point(text, i)));
      }
      offsets.push_back(static_cast<uint32_t>(text.size()));
    }
    input.load_code_points(std::move(points));
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
  constexpr int64_t token_ns = 300;
  charge(token_ns);
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
