#include "interpreter/syntax/format/format_tokens.hpp"

#include <cctype>
#include <iterator>

namespace pxl::syntax {
namespace {

int count_lines(std::string_view gap) {
  int lines = 0;
  for (size_t i = 0; i < gap.size(); ++i)
    lines += gap[i] == '\n' || (gap[i] == '\r' && (i + 1 == gap.size() || gap[i + 1] != '\n'));
  return lines;
}

}  // namespace

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

bool follows_line(int type) { return type == ids::COMMA || type == ids::TRAILING_COMMA || type == ids::BLOCK_OPEN; }

FormatTokens::FormatTokens(const TokenList& l)
    : list(l), before_(l.tokens.size()), after_(l.tokens.size()), blank_(l.tokens.size()) {
  const std::string_view text = list.source->text();
  size_t comment = 0;
  std::vector<FormatComment> gap;  // comments since the last token whose comments are known
  bool first_trails = false;       // whether the first of them is on the line of the last token
  uint32_t last = no_token;        // the last token other than a newline
  uint32_t at = 0;
  for (uint32_t i = 0; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    if (t.type == ids::NEWLINE) continue;
    const auto lines_to = [&](uint32_t to) { return count_lines(text.substr(at, to - at)); };
    bool documents = false;
    for (; comment < list.comments.size() && list.comments[comment].begin < t.begin; ++comment) {
      const Comment& c = list.comments[comment];
      const std::string_view written = text.substr(c.begin, c.end - c.begin);
      if (gap.empty()) first_trails = !c.own_line && last != no_token;
      documents |= c.own_line && written.starts_with("##");
      gap.push_back({tidy_comment(written), c.own_line && lines_to(c.begin) > 1});
      at = c.end;
    }
    blank_[i] = lines_to(t.begin) > 1;
    // A doc comment keeps its place, since it belongs to the token after it.
    if (!follows_line(t.type) || documents) {
      const size_t trailing = first_trails && !gap.empty() ? 1 : 0;
      if (trailing > 0) after_[last] = std::move(gap.front().text);
      before_[i].assign(std::make_move_iterator(gap.begin() + static_cast<ptrdiff_t>(trailing)),
                        std::make_move_iterator(gap.end()));
      gap.clear();
    }
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

bool FormatTokens::puts_items_on_lines(uint32_t i) const {
  const uint32_t open = list.tokens[i].enclosing;
  if (type(i) != ids::TRAILING_COMMA || open == no_token || list.tokens[open].partner != i + 1) return false;
  const bool follows_operand = open > 0 && (ends_operand(type(open - 1)) || type(open - 1) == ids::BUILD);
  if (type(open) != (follows_operand ? ids::LBRACKET : ids::LPAREN)) return true;
  for (uint32_t k = open + 1; k < i; k = unit_end(k))
    if (type(k) == ids::COMMA) return true;
  return false;
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
    case ids::DOT: return before == ids::INT || before == ids::FROM;  // `1.` would be a float
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
      // This is the colon of a slice, not of an annotation or a dict.
      const uint32_t around = list.tokens[a].enclosing;
      return around == no_token || type(around) != ids::LBRACKET;
    }
  }
  // The dots of a relative import.
  if (before == ids::ELLIPSIS && a > 0 &&
      (type(a - 1) == ids::FROM || type(a - 1) == ids::DOT || type(a - 1) == ids::ELLIPSIS))
    return false;
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
