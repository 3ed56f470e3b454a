// Wraps the generated lexer: converts code points to byte offsets and protects its mode stack from underflow. With
// parser.cpp one of the two files that include ANTLR.
#include "interpreter/syntax/raw_lexer.hpp"

#include <antlr4-runtime.h>

#include <algorithm>
#include <string>
#include <vector>

#include "PxlLexer.h"

namespace pxl::syntax {
namespace {

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

class GuardedLexer : public pxl_grammar::PxlLexer {
 public:
  using PxlLexer::PxlLexer;
  // ANTLR throws from nextToken if the mode stack is empty.
  size_t popMode() override { return modeStack.empty() ? mode : PxlLexer::popMode(); }
};

}  // namespace

struct RawLexer::Impl {
  explicit Impl(std::string_view text)
      : bom(text.substr(0, 3) == byte_order_mark ? 3 : 0), input(std::string(text.substr(bom))), lexer(&input) {
    lexer.removeErrorListeners();
    if (std::all_of(text.begin() + bom, text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
      return;
    for (uint32_t i = bom; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) offsets.push_back(i);
    offsets.push_back(static_cast<uint32_t>(text.size()));
  }
  uint32_t offset(size_t code_point) const {
    if (offsets.empty()) return bom + static_cast<uint32_t>(code_point);
    return offsets[std::min(code_point, offsets.size() - 1)];
  }

  uint32_t bom;
  antlr4::ANTLRInputStream input;
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
