#include "interpreter/syntax/format_tokens.hpp"

#include <cctype>

namespace pxl::syntax {
namespace {

std::string tidy_comment(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\f\v") + 1);
  const size_t marks = text.starts_with("##") && !text.starts_with("###") ? 2 : 1;
  std::string out(text.substr(0, marks));
  if (text.size() > marks) {
    const auto next = static_cast<unsigned char>(text[marks]);
    if (std::isalnum(next) || next >= 0x80) out += ' ';
  }
  out += text.substr(marks);
  return out;
}

int count_lines(std::string_view gap) {
  int lines = 0;
  for (size_t i = 0; i < gap.size(); ++i)
    lines += gap[i] == '\n' || (gap[i] == '\r' && (i + 1 == gap.size() || gap[i + 1] != '\n'));
  return lines;
}

}  // namespace

FormatTokens::FormatTokens(const TokenList& l)
    : list(l), before_(l.tokens.size()), after_(l.tokens.size()), blank_(l.tokens.size()) {
  const std::string_view text = list.source->text();
  size_t comment = 0;
  uint32_t last = no_token;  // the last token other than a newline
  uint32_t at = 0;
  for (uint32_t i = 0; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    if (t.type == ids::NEWLINE) continue;
    auto gap = [&](uint32_t to) { return count_lines(text.substr(at, to - at)); };
    for (; comment < list.comments.size() && list.comments[comment].begin < t.begin; ++comment) {
      const Comment& c = list.comments[comment];
      std::string tidy = tidy_comment(text.substr(c.begin, c.end - c.begin));
      if (c.own_line || last == no_token)
        before_[i].push_back({std::move(tidy), gap(c.begin) > 1});
      else
        // Moves a comment after the comma that was written on the next line.
        after_[t.type == ids::COMMA || t.type == ids::TRAILING_COMMA ? i : last] = std::move(tidy);
      at = c.end;
    }
    blank_[i] = gap(t.begin) > 1;
    last = i;
    at = t.end;
  }
}

bool FormatTokens::is_prefix(uint32_t i) const {
  switch (type(i)) {
    case ids::PLUS:
    case ids::MINUS:
    case ids::TILDE:
    case ids::STAR:
    case ids::POWER: return i == 0 || !ends_operand(type(i - 1));
    default: return false;
  }
}

uint32_t FormatTokens::unit_end(uint32_t i) const {
  const Token& t = list.tokens[i];
  return t.partner != no_token && t.partner > i ? t.partner + 1 : i + 1;
}

std::string_view FormatTokens::unit_text(uint32_t i) const {
  const Token& t = list.tokens[i];
  const uint32_t end = t.type == ids::FSTRING_OPEN ? list.tokens[t.partner].end : t.end;
  return list.source->text().substr(t.begin, end - t.begin);
}

bool FormatTokens::space_between(uint32_t a, uint32_t b) const {
  const int before = type(a), next = type(b);
  switch (next) {
    case ids::COMMA:
    case ids::TRAILING_COMMA:
    case ids::COLON:
    case ids::RPAREN:
    case ids::RBRACKET:
    case ids::DICT_CLOSE: return false;
    case ids::DOT: return before == ids::INT;  // `1.` would be a float
    case ids::LPAREN:
    case ids::LBRACKET:
      if (ends_operand(before) || before == ids::BUILD) return false;
      break;
  }
  switch (before) {
    case ids::LPAREN:
    case ids::LBRACKET:
    case ids::DICT_OPEN:
    case ids::LAMBDA_OPEN:
    case ids::DOT: return false;
    case ids::COLON: {
      // The colon of a slice, not of an annotation or a dict.
      const uint32_t around = list.tokens[a].enclosing;
      return around == no_token || type(around) != ids::LBRACKET;
    }
  }
  // Two adjacent signs would form one token.
  if (is_prefix(a)) return before == next;
  return true;
}

std::string FormatTokens::flat(uint32_t first, uint32_t last) const {
  std::string out;
  uint32_t previous = first;
  for (uint32_t i = first; i < last;) {
    if (i > first && space_between(previous, i)) out += ' ';
    out += unit_text(i);
    const bool verbatim = type(i) == ids::FSTRING_OPEN;
    previous = verbatim ? unit_end(i) - 1 : i;
    i = previous + 1;
  }
  return out;
}

}  // namespace pxl::syntax
