#include "interpreter/syntax/classify.hpp"

#include "interpreter/syntax/parse.hpp"
#include "interpreter/syntax/tokens.hpp"

namespace pxl {
namespace {

using namespace syntax;

TokenClass class_of(int type) {
  switch (type) {
    case ids::TRUE:
    case ids::FALSE:
    case ids::NONE: return TokenClass::constant;
    case ids::PARAM:
    case ids::STATE:
    case ids::NEXT:
    case ids::PROGRAM:
    case ids::RECORD:
    case ids::REF:
    case ids::STREAM:
    case ids::OUT:
    case ids::VARIABLE:
    case ids::CONSTANT:
    case ids::OPTION:
    case ids::OUTLINED:
    case ids::TEST:
    case ids::BUILD: return TokenClass::declarer;
    case ids::NAME:
    case ids::LAMBDA_NAME: return TokenClass::name;
    case ids::ARGUMENT_NAME: return TokenClass::argument;
    case ids::INT:
    case ids::FLOAT:
    case ids::BAD_NUMBER: return TokenClass::number;
    case ids::STRING:
    case ids::BROKEN_STRING:
    case ids::BROKEN_TRIPLE:
    case ids::FSTRING_OPEN:
    case ids::FSTRING_CLOSE:
    case ids::FTEXT: return TokenClass::string;
    case ids::BLOCK_OPEN:
    case ids::BLOCK_CLOSE:
    case ids::DICT_OPEN:
    case ids::DICT_CLOSE:
    case ids::INTERPOLATION_OPEN:
    case ids::INTERPOLATION_CLOSE:
    case ids::LAMBDA_OPEN:
    case ids::LPAREN:
    case ids::RPAREN:
    case ids::LBRACKET:
    case ids::RBRACKET:
    case ids::LBRACE:
    case ids::RBRACE: return TokenClass::bracket;
    case ids::DOT: return TokenClass::dot;
    case ids::COMMA:
    case ids::TRAILING_COMMA: return TokenClass::comma;
    case ids::HABIT:
    case ids::DOUBLED:
    case ids::UNKNOWN: return TokenClass::unknown;
    default:
      return type == ids::ELSE_IF || type == ids::TRY_BLOCK || is_word(type) ? TokenClass::keyword
                                                                             : TokenClass::operation;
  }
}

// The parser's tokens do not include comments, so these are merged in by position.
void add_comments(std::string_view text, uint32_t from, uint32_t to, std::vector<ClassifiedToken>& out) {
  for (uint32_t i = from; i < to; ++i) {
    if (text[i] != '#') continue;
    uint32_t end = i;
    while (end < to && text[end] != '\n' && text[end] != '\r') ++end;
    const bool doc = end > i + 1 && text[i + 1] == '#' && (end == i + 2 || text[i + 2] != '#');
    out.push_back({doc ? TokenClass::documentation : TokenClass::comment, i, end});
    i = end;
  }
}

}  // namespace

std::vector<ClassifiedToken> classify_tokens(const SourceFile& source) {
  std::vector<ClassifiedToken> out;
  if (invalid_utf8(source.text()) != std::string_view::npos) return out;
  TokenList list = resolve_newlines(source);
  assign_roles(list);
  uint32_t last = 0;
  for (const Token& t : list.tokens) {
    if (t.synthetic || t.type == end_of_text || t.type == ids::NEWLINE || t.begin < last) continue;
    add_comments(source.text(), last, t.begin, out);
    if (t.end > t.begin) out.push_back({class_of(t.type), t.begin, t.end});
    last = t.end;
  }
  add_comments(source.text(), last, static_cast<uint32_t>(source.text().size()), out);
  return out;
}

}  // namespace pxl
