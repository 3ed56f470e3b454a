// Possible line breaks of a statement, lowest precedence first: `level` goes through the language's precedences in
// increasing order.
#include "interpreter/syntax/format/format_shape.hpp"

#include <algorithm>
#include <utility>

namespace pxl::syntax {
namespace {

enum Level : int {
  assignment,
  elements,
  annotation,
  lambda,
  clauses,
  conditional,
  disjunction,
  conjunction,
  comparison,
  bit_or,
  bit_xor,
  bit_and,
  shift,
  sum,
  product,
  power,
  members,
  words
};

// Keywords that open a statement: no break is possible after them. Their statements use `if`, `for` and `in` not as
// operators.
bool opens_statement(int type) {
  switch (type) {
    case ids::IF:
    case ids::ELSE:
    case ids::ELSE_IF:
    case ids::TRY_BLOCK:
    case ids::CATCH:
    case ids::FINALLY:
    case ids::FOR:
    case ids::WHILE:
    case ids::WITH:
    case ids::RETURN:
    case ids::ASSERT:
    case ids::IMPORT:
    case ids::FROM:
    case ids::DEF:
    case ids::MODULE:
    case ids::PARAM:
    case ids::STATE:
    case ids::NEXT:
    case ids::REF:
    case ids::PROGRAM:
    case ids::RECORD:
    case ids::STREAM:
    case ids::OUT:
    case ids::IN:
    case ids::VARIABLE:
    case ids::CONSTANT:
    case ids::OPTION:
    case ids::OUTLINED:
    case ids::TEST:
    case ids::BUILD: return true;
    default: return false;
  }
}

int level_of(int type) {
  switch (type) {
    case ids::ASSIGN:
    case ids::UPDATE: return assignment;
    case ids::COMMA:
    case ids::TRAILING_COMMA: return elements;
    case ids::COLON:
    case ids::RESULT: return annotation;
    case ids::ARROW: return lambda;
    case ids::FOR: return clauses;
    case ids::IF:
    case ids::ELSE: return conditional;
    case ids::OR: return disjunction;
    case ids::AND: return conjunction;
    case ids::IN:
    case ids::IS:
    case ids::NOT:
    case ids::EQUAL:
    case ids::NOT_EQUAL:
    case ids::LESS:
    case ids::LESS_EQUAL:
    case ids::GREATER:
    case ids::GREATER_EQUAL: return comparison;
    case ids::BAR: return bit_or;
    case ids::CARET: return bit_xor;
    case ids::AMPERSAND: return bit_and;
    case ids::SHIFT_LEFT:
    case ids::SHIFT_RIGHT: return shift;
    case ids::PLUS:
    case ids::MINUS: return sum;
    case ids::STAR:
    case ids::SLASH:
    case ids::FLOOR:
    case ids::PERCENT:
    case ids::AT: return product;
    case ids::POWER: return power;
    case ids::DOT: return members;
    default: return words;
  }
}

}  // namespace

DocId FormatShaper::statement(uint32_t first, uint32_t last) {
  first_ = first;
  last_ = last;
  shape_brackets(first, last);
  const Units all = units(first, last);
  size_t prefix = 0;
  while (prefix < all.size() && opens_statement(tokens_.type(all[prefix].first))) ++prefix;
  if (prefix == 0) return level(all, {0, all.size()}, assignment);
  const DocId head = joined(all, {0, prefix});
  if (prefix == all.size()) return head;
  // The targets of a `for` are not separated.
  const bool binds = tokens_.type(all[0].first) == ids::FOR;
  const DocId rest = level(all, {prefix, all.size()}, binds ? comparison : assignment);
  return space_before(all, prefix) ? documents_.concat({head, documents_.text(" "), rest})
                                   : documents_.concat({head, rest});
}

// Shapes brackets from the last to the first, so that inner brackets are done before outer ones. The recursion depth
// therefore does not grow with nesting.
void FormatShaper::shape_brackets(uint32_t first, uint32_t last) {
  std::vector<uint32_t> opening;
  for (uint32_t i = first; i < last; ++i) {
    if (tokens_.type(i) == ids::FSTRING_OPEN)
      i = tokens_.unit_end(i) - 1;
    else if (tokens_.unit_end(i) > i + 1)
      opening.push_back(i);
  }
  brackets_.clear();
  for (size_t k = opening.size(); k-- > 0;) {
    const uint32_t i = opening[k];
    brackets_.emplace(i, bracket({i, tokens_.unit_end(i) - 1}));
  }
}

FormatShaper::Units FormatShaper::units(uint32_t first, uint32_t last) const {
  Units out;
  for (uint32_t i = first; i < last; i = out.back().last + 1) out.push_back({i, tokens_.unit_end(i) - 1});
  return out;
}

bool FormatShaper::at_statement_level(const Units& all) const { return all.front().first == first_; }

bool FormatShaper::space_before(const Units& all, size_t i) const {
  return tokens_.space_between(all[i - 1].last, all[i].first);
}

// Whether unit i begins or ends an item of this level.
bool FormatShaper::splits(const Units& all, Range range, size_t i, int number) const {
  const uint32_t at = all[i].first;
  const int type = tokens_.type(at);
  if (level_of(type) != number || tokens_.is_prefix(at)) return false;
  if (type == ids::NOT)
    return i > range.first && (tokens_.type(all[i - 1].first) == ids::IS ||
                               (i + 1 < range.second && tokens_.type(all[i + 1].first) == ids::IN));
  return true;
}

std::vector<size_t> FormatShaper::split_at(const Units& all, Range range, int number) const {
  const bool top = at_statement_level(all);
  // After the first `for` of a comprehension, `if` is a filter.
  const bool filters = number == conditional && tokens_.type(all[range.first].first) == ids::FOR;
  const bool before = number == clauses || number == members || filters || (number == conditional && !top);
  std::vector<size_t> starts{range.first};
  for (size_t i = range.first; i < range.second; ++i) {
    if (!splits(all, range, i, number)) continue;
    const int type = tokens_.type(all[i].first);
    if (number == conditional && top && type == ids::IF) continue;  // no line break is allowed before it
    // `not in` and `is not` are one operator.
    if (number == comparison && i + 1 < range.second && splits(all, range, i + 1, number)) continue;
    const size_t start = before ? i : i + 1;
    if (start > starts.back() && start < range.second) starts.push_back(start);
  }
  return starts;
}

DocId FormatShaper::level(const Units& all, Range range, int number) {
  std::vector<size_t> starts;
  for (;; ++number) {
    if (number == words || range.second - range.first == 1) return joined(all, range);
    starts = split_at(all, range, number);
    if (starts.size() > 1) break;
  }
  const bool top = at_statement_level(all);
  std::vector<DocId> items;
  std::vector<bool> spaced;
  for (size_t k = 0; k < starts.size(); ++k) {
    const size_t end = k + 1 < starts.size() ? starts[k + 1] : range.second;
    // Parts of a comprehension may contain operators of lower precedence than its `for`.
    items.push_back(level(all, {starts[k], end}, number == clauses ? static_cast<int>(elements) : number + 1));
    spaced.push_back(k > 0 && space_before(all, starts[k]));
  }
  const bool glued = number == annotation || (number == assignment && !top) || number == lambda;
  if (glued) {
    std::vector<DocId> parts{items.front()};
    for (size_t k = 1; k < items.size(); ++k) {
      if (spaced[k]) parts.push_back(documents_.text(" "));
      parts.push_back(items[k]);
    }
    return documents_.concat(std::move(parts));
  }
  const Doc::Breaks breaks = number == assignment || number == members ? Doc::late
                             : number == clauses                       ? Doc::all
                                                                       : Doc::fill;
  return documents_.chain(std::move(items), std::move(spaced), breaks);
}

DocId FormatShaper::joined(const Units& all, Range range) {
  std::vector<DocId> parts;
  for (size_t i = range.first; i < range.second; ++i) {
    if (i > range.first && space_before(all, i)) parts.push_back(documents_.text(" "));
    parts.push_back(unit(all[i]));
  }
  return documents_.concat(std::move(parts));
}

DocId FormatShaper::unit(Unit u) {
  const auto done = brackets_.find(u.first);
  return done == brackets_.end() ? token(u.first) : done->second;
}

DocId FormatShaper::token(uint32_t i) {
  std::vector<DocId> parts;
  const uint32_t end = tokens_.type(i) == ids::FSTRING_OPEN ? tokens_.unit_end(i) - 1 : i;
  if (i != first_)
    for (const FormatComment& c : tokens_.before(i)) parts.push_back(documents_.comment(c.text, true));
  parts.push_back(documents_.text(tokens_.unit_text(i)));
  if (end + 1 != last_ && !tokens_.after(end).empty()) parts.push_back(documents_.comment(tokens_.after(end), false));
  return documents_.concat(std::move(parts));
}

// Whether the brackets are the rows of a matrix: each of them began a line in the source.
bool FormatShaper::written_in_rows(const Units& inside) const {
  const std::string_view text = tokens_.list.source->text();
  if (inside.size() < 3) return false;
  for (size_t i = 0; i < inside.size(); ++i) {
    const int type = tokens_.type(inside[i].first);
    if (i % 2 == 1 ? type != ids::COMMA : type != ids::LBRACKET && type != ids::LPAREN) return false;
    if (i == 0 || i % 2 == 1) continue;
    const uint32_t from = tokens_.list.tokens[inside[i - 2].last].end;
    if (text.substr(from, tokens_.list.tokens[inside[i].first].begin - from).find('\n') == text.npos) return false;
  }
  return true;
}

DocId FormatShaper::bracket(Unit u) {
  const Units inside = units(u.first + 1, u.last);
  bool exploded = !tokens_.after(u.first).empty() || !tokens_.before(u.last).empty();
  std::vector<DocId> items;
  std::vector<bool> spaced;
  const bool comprehension =
      std::any_of(inside.begin(), inside.end(), [&](const Unit& i) { return tokens_.type(i.first) == ids::FOR; });
  for (size_t start = 0; start < inside.size();) {
    size_t end = comprehension ? inside.size() : start;
    while (end < inside.size() && level_of(tokens_.type(inside[end].first)) != elements) ++end;
    const size_t stop = std::min(end + 1, inside.size());
    for (size_t i = start; i < stop; ++i)
      exploded |= !tokens_.before(inside[i].first).empty() || !tokens_.after(inside[i].last).empty();
    DocId item = level(inside, {start, end}, comprehension ? clauses : assignment);
    if (end < inside.size()) item = documents_.concat({item, token(inside[end].first)});
    items.push_back(item);
    spaced.push_back(start > 0);
    start = stop;
  }
  exploded |= !inside.empty() && tokens_.puts_items_on_lines(inside.back().first);
  if (!tokens_.before(u.last).empty()) {
    std::vector<DocId> comments;
    for (const FormatComment& c : tokens_.before(u.last)) comments.push_back(documents_.comment(c.text, true));
    items.push_back(documents_.concat(std::move(comments)));
    spaced.push_back(false);
  }
  Documents::Rows rows = exploded ? Documents::exploded : Documents::filled;
  if (!exploded && written_in_rows(inside)) rows = Documents::aligned;
  std::vector<DocId> open{documents_.text(tokens_.unit_text(u.first))};
  if (!tokens_.after(u.first).empty()) open.push_back(documents_.comment(tokens_.after(u.first), false));
  if (u.first != first_)
    for (auto c = tokens_.before(u.first).rbegin(); c != tokens_.before(u.first).rend(); ++c)
      open.insert(open.begin(), documents_.comment(c->text, true));
  std::vector<DocId> close{documents_.text(tokens_.unit_text(u.last))};
  if (u.last + 1 != last_ && !tokens_.after(u.last).empty())
    close.push_back(documents_.comment(tokens_.after(u.last), false));
  return documents_.bracket(documents_.concat(std::move(open)), std::move(items), std::move(spaced),
                            documents_.concat(std::move(close)), rows);
}

}  // namespace pxl::syntax
