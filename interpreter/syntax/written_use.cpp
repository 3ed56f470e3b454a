#include "interpreter/syntax/written_use.hpp"

#include <algorithm>
#include <optional>

#include "interpreter/syntax/fixes/syntax_fixes.hpp"

namespace pxl {
namespace {

using namespace syntax;

std::optional<uint32_t> token_at(const TokenList& list, const Span& name) {
  const auto found = std::lower_bound(list.tokens.begin(), list.tokens.end(), name.begin,
                                      [](const Token& t, uint32_t at) { return t.begin < at; });
  if (found == list.tokens.end() || found->begin != name.begin || found->type == end_of_text) return std::nullopt;
  return static_cast<uint32_t>(found - list.tokens.begin());
}

bool is_closer(int type) { return type == ids::RPAREN || type == ids::RBRACKET || type == ids::DICT_CLOSE; }

/// The first token of the operand that ends at a token: `f(x)[0]`, `"text"`.
uint32_t begin_of_operand(const TokenList& list, uint32_t last) {
  uint32_t i = last;
  for (;;) {
    if (is_closer(list.tokens[i].type) || list.tokens[i].type == ids::FSTRING_CLOSE) {
      const uint32_t open = list.tokens[i].partner;
      if (open == no_token || open >= i) return i;
      i = open;
      const bool applied = i > 0 && list.tokens[i].type != ids::FSTRING_OPEN && list.tokens[i].type != ids::DICT_OPEN &&
                           (token_type(list, i - 1) == ids::NAME || is_closer(token_type(list, i - 1)));
      if (applied) {
        --i;
        continue;
      }
    }
    if (i >= 2 && token_type(list, i - 1) == ids::DOT) {
      i -= 2;
      continue;
    }
    return i;
  }
}

void read_arguments(const TokenList& list, uint32_t open, uint32_t close, WrittenUse& out) {
  if (close <= open + 1) return;
  out.arguments = join(list.span(open + 1), list.span(close - 1));
  for (uint32_t i = open + 1; i < close;) {
    const uint32_t end = std::min(end_of_piece(list, i), close);
    if (end == i) break;
    const bool named = token_type(list, i + 1) == ids::ASSIGN && i + 2 < end;
    out.values.push_back(join(list.span(named ? i + 2 : i), list.span(end - 1)));
    i = end + 1;
  }
}

Span statement_around(const TokenList& list, uint32_t at) {
  uint32_t first = at, last = at;
  const auto is_end = [&](uint32_t i) {
    const int type = token_type(list, i);
    return type == ids::NEWLINE || type == ids::BLOCK_OPEN || type == ids::BLOCK_CLOSE || type == end_of_text;
  };
  while (first > 0 && !is_end(first - 1)) --first;
  while (!is_end(last + 1)) ++last;
  return join(list.span(first), list.span(last));
}

}  // namespace

std::string WrittenUse::path_text() const {
  std::string out(name.text());
  for (const Span& m : members) out += "." + std::string(m.text());
  return out;
}

WrittenUse written_use(const Span& name) {
  WrittenUse out;
  out.name = out.path = name;
  if (!name) return out;
  constexpr int64_t token_ns = 300;
  const TokenList list = resolve_newlines(*name.file, token_ns);
  const std::optional<uint32_t> found = token_at(list, name);
  if (!found) return out;
  uint32_t at = *found;
  if (at >= 2 && token_type(list, at - 1) == ids::DOT)
    out.base = join(list.span(begin_of_operand(list, at - 2)), list.span(at - 2));
  while (token_type(list, at + 1) == ids::DOT && token_type(list, at + 2) == ids::NAME) {
    at += 2;
    out.members.push_back(list.span(at));
  }
  out.path = join(name, list.span(at));
  if (token_type(list, at + 1) == ids::LPAREN) {
    const uint32_t close = list.tokens[at + 1].partner;
    if (close != no_token && !list.tokens[close].synthetic) {
      out.call = join(out.base ? out.base : name, list.span(close));
      read_arguments(list, at + 1, close, out);
    }
  }
  out.statement = statement_around(list, *found);
  return out;
}

namespace {

/// An argument in brackets if it is an operand of the form and holds an operator.
std::string as_operand(const Span& value, std::string_view form, size_t begin, size_t end) {
  const char before = begin == 0 ? '(' : form[begin - 1], after = end == form.size() ? ')' : form[end];
  const bool alone = std::string_view("([, ").find(before) != std::string_view::npos &&
                     (after == ')' || after == ']' || after == ',') &&
                     (before != ' ' || (begin >= 2 && form[begin - 2] == ','));
  const std::string text(value.text());
  if (alone) return text;
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
    if (depth == 0 && std::string_view(" +-*/%<>=|&^@").find(c) != std::string_view::npos) return "(" + text + ")";
  }
  return text;
}

}  // namespace

std::string filled_form(std::string_view form, const WrittenUse& use) {
  std::string out;
  for (size_t i = 0; i < form.size();) {
    const size_t close = form[i] == '{' ? form.find('}', i) : form.npos;
    if (close == form.npos) {
      out += form[i++];
      continue;
    }
    const std::string_view slot = form.substr(i + 1, close - i - 1);
    const size_t begin = i;
    i = close + 1;
    if (slot == "base") {
      if (!use.base) return {};
      out += use.base.text();
    } else if (slot == "args") {
      out += use.arguments.text();
    } else if (slot == "rest") {
      if (use.values.size() < 2) return {};
      out += join(use.values[1], use.values.back()).text();
    } else {
      const auto number = static_cast<size_t>(slot[0] - '0');
      if (number >= use.values.size()) return {};
      out += as_operand(use.values[number], form, begin, i);
    }
  }
  return out;
}

}  // namespace pxl
