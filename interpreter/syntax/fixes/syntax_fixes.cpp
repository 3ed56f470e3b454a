#include "interpreter/syntax/fixes/syntax_fixes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "interpreter/syntax/parse.hpp"

namespace pxl::syntax {
namespace {

/// The last line of the block that is indented more than `line`, or `line` itself.
int last_line_of_block(const SourceFile& source, int line) {
  const size_t own = indentation_at(source, source.line_start(line)).size();
  int last = line;
  for (int next = line + 1; next <= source.line_count(); ++next) {
    const std::string_view text = source.line(next);
    if (text.find_first_not_of(" \t\r") == text.npos) continue;
    if (indentation_at(source, source.line_start(next)).size() <= own) break;
    last = next;
  }
  return last;
}

Span end_of_line(const SourceFile& source, int line) {
  const uint32_t end = source.line_start(line) + static_cast<uint32_t>(source.line(line).size());
  return {&source, end, end};
}

}  // namespace

std::string_view indentation_at(const SourceFile& source, uint32_t offset) {
  const std::string_view line = source.line(source.position(offset).line);
  return line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
}

uint32_t end_of_piece(const TokenList& list, uint32_t at) {
  const uint32_t around = list.tokens[at].enclosing;
  uint32_t i = at;
  for (; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    if (t.type == end_of_text || (t.enclosing == around && (t.type == ids::NEWLINE || t.type == ids::COMMA))) break;
    if (around != no_token && list.tokens[around].partner == i) break;
  }
  return std::min<uint32_t>(i, static_cast<uint32_t>(list.tokens.size() - 1));
}

uint32_t next_of_type(const TokenList& list, uint32_t at, int type) {
  const uint32_t end = end_of_piece(list, at);
  for (uint32_t i = at + 1; i < end; ++i)
    if (list.tokens[i].type == type && list.tokens[i].enclosing == list.tokens[at].enclosing) return i;
  return no_token;
}

void mend_unclosed(const TokenList& list, uint32_t opening, Diagnostic& d) {
  const SourceFile& source = *list.source;
  const std::string_view text = list.text(opening);
  const int line = source.position(list.tokens[opening].begin).line;
  const std::string indentation(indentation_at(source, list.tokens[opening].begin));
  const int last = last_line_of_block(source, line);
  const std::string closer = text == "(" ? ")" : text == "[" ? "]" : text == "{" ? "}" : "";
  const std::string title = fmt::format("Insert the missing `{}`", closer);
  if (closer.empty() || (closer == "}" && last == line)) return;
  const bool ends_line = source.line(line).find_first_not_of(
                             " \t\r", list.tokens[opening].end - source.line_start(line)) == std::string_view::npos;
  if (closer == "}" || (last > line && ends_line))
    return d.offer(end_of_line(source, last), "\n" + indentation + closer, title);
  // After the last token of these lines, which a comment may follow.
  uint32_t end = list.tokens[opening].end;
  for (uint32_t i = opening; i < list.tokens.size() && source.position(list.tokens[i].begin).line <= last; ++i)
    if (!list.tokens[i].synthetic && list.tokens[i].type != ids::NEWLINE) end = std::max(end, list.tokens[i].end);
  const auto last_token = [&](uint32_t i) { return list.tokens[i].end == end && !list.tokens[i].synthetic; };
  for (uint32_t i = opening + 1; i < list.tokens.size(); ++i)
    if (last_token(i) && continues_line(list.tokens[i].type)) return;  // a value is missing, too
  d.offer({&source, end, end}, closer, title);
}

void mend_unmatched(const SourceFile& source, uint32_t begin, uint32_t end, Diagnostic& d) {
  const Position at = source.position(begin);
  const std::string_view line = source.line(at.line);
  const std::string title = fmt::format("Remove the `{}`", source.text().substr(begin, end - begin));
  if (line.find_first_not_of(" \t\r}") != line.npos || line.find('}') != line.rfind('}'))
    return d.offer({&source, begin, end}, "", title);
  const uint32_t from = source.line_start(at.line);
  const uint32_t to =
      at.line < source.line_count() ? source.line_start(at.line + 1) : static_cast<uint32_t>(source.text().size());
  d.offer({&source, from, to}, "", title);
}

void mend_colon_block(const TokenList& list, uint32_t colon, Diagnostic& d) {
  const SourceFile& source = *list.source;
  const int line = source.position(list.tokens[colon].begin).line;
  const std::string indentation(indentation_at(source, list.tokens[colon].begin));
  const Span at = list.span(colon);
  const std::string_view rest = source.text().substr(at.end, end_of_line(source, line).end - at.end);
  const size_t first = rest.find_first_not_of(" \t\r");
  Fix fix{"Write the block in braces", {{at, " {"}}};
  if (first != rest.npos && rest[first] != '#') {
    fix.edits.push_back({end_of_line(source, line), " }"});
  } else {
    const int last = last_line_of_block(source, line);
    if (last == line) return;
    fix.edits.push_back({end_of_line(source, last), "\n" + indentation + "}"});
  }
  d.fixes.push_back(std::move(fix));
}

void mend_missing_brace(const TokenList& list, uint32_t newline, Diagnostic& d) {
  if (newline == 0) return;
  const SourceFile& source = *list.source;
  const uint32_t end = list.tokens[newline - 1].end;
  const uint32_t next = newline + 1;
  if (token_type(list, next) == ids::DICT_OPEN || token_type(list, next) == ids::BLOCK_OPEN)
    return d.offer({&source, end, list.tokens[next].end}, " {", "Move the `{` to the line of its head");
  const int line = source.position(end).line, last = last_line_of_block(source, line);
  if (last == line) return;
  Fix fix{"Write the block in braces", {{{&source, end, end}, " {"}}};
  const std::string_view indentation = indentation_at(source, source.line_start(line));
  const std::string_view below = last < source.line_count() ? source.line(last + 1) : std::string_view();
  const uint32_t start = last < source.line_count() ? source.line_start(last + 1) : 0;
  const auto at = static_cast<uint32_t>(start + indentation.size());
  if (below == std::string(indentation) + "end")
    fix.edits.push_back({{&source, at, at + 3}, "}"});
  else if (!below.starts_with(std::string(indentation) + "}"))
    fix.edits.push_back({end_of_line(source, last), "\n" + std::string(indentation) + "}"});
  d.fixes.push_back(std::move(fix));
}

void mend_semicolons(const TokenList& list, uint32_t at, Diagnostic& d) {
  const SourceFile& source = *list.source;
  const int line = source.position(list.tokens[at].begin).line;
  const std::string separate = "\n" + std::string(indentation_at(source, list.tokens[at].begin));
  Fix fix{"Write each statement on its own line", {}};
  for (uint32_t i = at; i < list.tokens.size(); ++i) {
    const Token& t = list.tokens[i];
    if (t.type == end_of_text || source.position(t.begin).line != line) break;
    if (t.enclosing != list.tokens[at].enclosing || list.text(i) != ";") continue;
    const int next = token_type(list, i + 1);
    const bool is_last = next == ids::NEWLINE || next == end_of_text || list.tokens[i + 1].begin > t.end + 200 ||
                         source.position(list.tokens[i + 1].begin).line != line;
    const bool closes = next == ids::BLOCK_CLOSE && !is_last;
    const uint32_t until = is_last || closes ? t.end : list.tokens[i + 1].begin;
    fix.edits.push_back({{&source, t.begin, until}, is_last || closes ? "" : separate});
  }
  if (fix.edits.size() == 1 && fix.edits[0].text.empty()) fix.title = "Remove the `;`";
  d.fixes.push_back(std::move(fix));
}

void mend_leading_operator(const TokenList& list, uint32_t at, Diagnostic& d) {
  Fix fix{"Move the operator to the end of the line above", {}};
  for (uint32_t i = at; i < list.tokens.size(); ++i) {
    const bool begins = i > 0 && (i == at || token_type(list, i - 1) == ids::NEWLINE);
    if (i != at && begins && !continues_line(token_type(list, i))) break;
    if (!begins || !continues_line(token_type(list, i)) || i < 2) continue;
    const uint32_t before = token_type(list, i - 1) == ids::NEWLINE ? i - 2 : i - 1;
    const Token& t = list.tokens[i];
    const bool blank = t.end < list.source->text().size() && list.source->text()[t.end] == ' ';
    fix.edits.push_back(
        {{list.source, list.tokens[before].end, list.tokens[before].end}, " " + std::string(list.text(i))});
    fix.edits.push_back({{list.source, t.begin, t.end + (blank ? 1u : 0u)}, ""});
  }
  if (!fix.edits.empty()) d.fixes.push_back(std::move(fix));
}

// Parts of the head by its two `;`: the name, its first value, the limit.
void mend_counting_loop(const TokenList& list, uint32_t parenthesis, Diagnostic& d) {
  const uint32_t close = list.tokens[parenthesis].partner;
  uint32_t equals = no_token, less = no_token, ends[2] = {no_token, no_token};
  size_t found = 0;
  if (close == no_token || list.tokens[close].synthetic) return;
  for (uint32_t i = parenthesis + 1; i < close; ++i) {
    if (list.tokens[i].enclosing != parenthesis) continue;
    if (list.text(i) == ";" && found < 2) ends[found++] = i;
    if (token_type(list, i) == ids::ASSIGN && equals == no_token) equals = i;
    if (found == 1 && (list.text(i) == "<" || list.text(i) == "<=")) less = i;
  }
  if (found < 2 || equals == no_token || less == no_token || token_type(list, equals - 1) != ids::NAME) return;
  const auto between = [&](uint32_t from, uint32_t to) {
    return std::string(
        list.source->text().substr(list.tokens[from].begin, list.tokens[to - 1].end - list.tokens[from].begin));
  };
  if (equals + 1 >= ends[0] || less + 1 >= ends[1]) return;
  std::string limit = between(less + 1, ends[1]);
  if (list.text(less) == "<=") limit += " + 1";
  const std::string first = between(equals + 1, ends[0]);
  d.offer(join(list.span(parenthesis), list.span(close)),
          fmt::format("{} in range({}{})", list.text(equals - 1), first == "0" ? "" : first + ", ", limit));
}

void mend_bars(const TokenList& list, uint32_t bar, Diagnostic& d) {
  const std::string_view text = list.source->text();
  const size_t close = text.find('|', list.tokens[bar].end);
  if (close == text.npos || close > text.find('\n', list.tokens[bar].end)) return;
  const std::string names(text.substr(list.tokens[bar].end, close - list.tokens[bar].end));
  size_t body = text.find_first_not_of(' ', close + 1);
  if (body == text.npos || text[body] == '{') return;
  d.offer({list.source, list.tokens[bar].begin, static_cast<uint32_t>(body)}, fmt::format("({}) => ", names));
}

void mend_record(const TokenList& list, uint32_t word, Diagnostic& d) {
  const uint32_t open = word + 2;
  const int type = token_type(list, open);
  if (token_type(list, word + 1) != ids::NAME || (type != ids::BLOCK_OPEN && type != ids::DICT_OPEN)) return;
  const uint32_t close = list.tokens[open].partner;
  if (close == no_token || list.tokens[close].synthetic) return;
  const std::string_view inner =
      list.source->text().substr(list.tokens[open].end, list.tokens[close].begin - list.tokens[open].end);
  std::string fields;
  for (size_t at = 0; at < inner.size();) {
    const size_t end = std::min(inner.find('\n', at), inner.size());
    std::string_view line = inner.substr(at, end - at);
    at = end + 1;
    if (line.find('#') != line.npos) return;  // a comment would take what follows
    const size_t first = line.find_first_not_of(" \t,;"), last = line.find_last_not_of(" \t,;");
    if (first == line.npos) continue;
    fields += (fields.empty() ? "" : ", ") + std::string(line.substr(first, last + 1 - first));
  }
  if (!fields.empty())
    d.offer(join(list.span(word), list.span(close)), fmt::format("record {}({})", list.text(word + 1), fields));
}

void mend_equation(const SourceFile& source, Span target, Span value, Diagnostic& d) {
  d.offer({&source, target.begin, value.end}, fmt::format("def {} {{ return {} }}", target.text(), value.text()));
}

}  // namespace pxl::syntax
