#include "interpreter/syntax/fixes/foreign_syntax.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/parse.hpp"

namespace pxl::syntax {
namespace {

// Another spelling in place of the token.
#define SPELL(name, spelling) \
  void name(const TokenList& list, uint32_t at, Diagnostic& d) { d.offer(list.span(at), spelling); }
SPELL(to_else_if, "else if")
SPELL(to_and, "and")
SPELL(to_or, "or")
SPELL(to_def, "def")
SPELL(to_import, "import")
SPELL(to_nonlocal, "nonlocal")
SPELL(to_if_not, "if not")
SPELL(to_while_not, "while not")
SPELL(to_catch, "catch")
#undef SPELL

void to_not(const TokenList& list, uint32_t at, Diagnostic& d) {
  const bool apart = token_type(list, at + 1) != ids::NEWLINE && list.tokens[at + 1].begin > list.tokens[at].end;
  d.offer(list.span(at), apart ? "not" : "not ");
}

// `let mut x = 1`: the words before the name that is bound.
void drop_words(const TokenList& list, uint32_t at, Diagnostic& d) {
  uint32_t name = at + 1;
  while (token_type(list, name) == ids::NAME && token_type(list, name + 1) == ids::NAME) ++name;
  if (token_type(list, name) != ids::NAME) return;
  d.offer({list.source, list.tokens[at].begin, list.tokens[name].begin}, "", fmt::format("Remove `{}`", list.text(at)));
}

void to_lambda(const TokenList& list, uint32_t at, Diagnostic& d) {
  const uint32_t around = list.tokens[at].enclosing;
  uint32_t colon = at + 1;
  while (token_type(list, colon) != ids::COLON || list.tokens[colon].enclosing != around) {
    if (token_type(list, colon) == ids::NEWLINE || token_type(list, colon) == end_of_text) return;
    ++colon;
  }
  if (token_type(list, colon + 1) == end_of_text) return;
  const std::string_view text = list.source->text();
  std::string names;
  if (colon > at + 1)
    names = text.substr(list.tokens[at + 1].begin, list.tokens[colon - 1].end - list.tokens[at + 1].begin);
  d.offer({list.source, list.tokens[at].begin, list.tokens[colon + 1].begin}, fmt::format("({}) => ", names));
}

/// The text of the tokens from `from` to the end of the statement.
Span rest_of_statement(const TokenList& list, uint32_t from) {
  uint32_t end = from;
  const uint32_t around = list.tokens[from].enclosing;
  while (token_type(list, end) != end_of_text &&
         !(list.tokens[end].enclosing == around && (token_type(list, end) == ids::NEWLINE || list.text(end) == ";" ||
                                                    (around != no_token && list.tokens[around].partner == end))))
    ++end;
  return end == from ? Span{} : join(list.span(from), list.span(end - 1));
}

// `raise ValueError("why")`, `throw "why"`.
void to_fail(const TokenList& list, uint32_t at, Diagnostic& d) {
  const Span what = rest_of_statement(list, at + 1);
  if (!what) return;
  std::string message(what.text());
  uint32_t open = at + 1;
  if (list.text(open) == "new") ++open;
  if (token_type(list, open) == ids::NAME && token_type(list, open + 1) == ids::LPAREN) {
    const uint32_t close = list.tokens[open + 1].partner;
    if (close == no_token || list.tokens[close].end != what.end) return;
    message =
        list.source->text().substr(list.tokens[open + 1].end, list.tokens[close].begin - list.tokens[open + 1].end);
    if (message.empty()) message = fmt::format("\"{}\"", list.text(open));
  } else if (token_type(list, open) == ids::NAME) {
    message = fmt::format("\"{}\"", message);
  }
  d.offer(join(list.span(at), what), fmt::format("fail({})", message));
}

// `del d["key"]`.
void to_pop(const TokenList& list, uint32_t at, Diagnostic& d) {
  const Span what = rest_of_statement(list, at + 1);
  if (!what) return;
  uint32_t close = at + 1;
  while (list.tokens[close].end < what.end) ++close;
  const uint32_t open = list.tokens[close].partner;
  if (token_type(list, close) != ids::RBRACKET || open == no_token || open < at + 2) return;
  const std::string_view text = list.source->text();
  const auto between = [&](uint32_t a, uint32_t b) { return text.substr(a, b - a); };
  d.offer(join(list.span(at), what), fmt::format("{}.pop({})", between(what.begin, list.tokens[open].begin),
                                                 between(list.tokens[open].end, list.tokens[close].begin)));
}

void to_increment(const TokenList& list, uint32_t at, Diagnostic& d) {
  if (at > 0 && ends_operand(token_type(list, at - 1)))
    d.offer(list.span(at), list.text(at) == "++" ? " += 1" : " -= 1");
}

// `c ? a : b`.
void to_conditional(const TokenList& list, uint32_t at, Diagnostic& d) {
  const uint32_t around = list.tokens[at].enclosing, colon = next_of_type(list, at, ids::COLON);
  if (colon == no_token || at == 0) return;
  uint32_t first = at;
  while (first > 0) {
    const Token& before = list.tokens[first - 1];
    const bool outside = before.enclosing != around && list.tokens[first - 1].partner == no_token;
    if (before.enclosing == around && (before.type == ids::NEWLINE || before.type == ids::ASSIGN ||
                                       before.type == ids::COMMA || before.type == ids::RETURN))
      break;
    if (first - 1 == around || outside) break;
    --first;
  }
  const uint32_t end = end_of_piece(list, colon);
  if (first == at || colon == at + 1 || end == colon + 1) return;
  const auto between = [&](uint32_t from, uint32_t to) { return join(list.span(from), list.span(to - 1)).text(); };
  d.offer(join(list.span(first), list.span(end - 1)),
          fmt::format("{} if {} else {}", between(at + 1, colon), between(first, at), between(colon + 1, end)));
}

// A `\` at the end of a line: an operator before it continues the line, and one after it moves there.
void drop_backslash(const TokenList& list, uint32_t at, Diagnostic& d) {
  if (at == 0) return;
  const Span blank{list.source, list.tokens[at - 1].end, list.tokens[at].end};
  const int before = token_type(list, at - 1);
  if (continues_line(before) || !ends_operand(before)) return d.offer(blank, "", "Remove the `\\`");
  uint32_t next = at + 1;
  if (token_type(list, next) == ids::NEWLINE) ++next;
  if (!continues_line(token_type(list, next))) return;
  const std::string operator_text(list.text(next));
  const uint32_t after = list.tokens[next].end;
  const bool blank_after = after < list.source->text().size() && list.source->text()[after] == ' ';
  d.fixes.push_back(
      {"Move the operator to the end of the line",
       {{blank, " " + operator_text}, {{list.source, list.tokens[next].begin, after + (blank_after ? 1u : 0u)}, ""}}});
}

// `x -> x + 1`.
void to_arrow(const TokenList& list, uint32_t at, Diagnostic& d) {
  const int before = at > 0 ? token_type(list, at - 1) : ids::NEWLINE;
  if (before == ids::NAME || before == ids::RPAREN) d.offer(list.span(at), "=>");
}

// `class Net(Module) {` is a module, `class Config(width: int)` a record.
void to_module(const TokenList& list, uint32_t at, Diagnostic& d) {
  if (token_type(list, at + 1) != ids::NAME) return;
  uint32_t next = at + 2;
  Span bases;
  if (token_type(list, next) == ids::LPAREN) {
    const uint32_t close = list.tokens[next].partner;
    if (close == no_token || list.tokens[close].synthetic) return;
    bases = join(list.span(next), list.span(close));
    next = close + 1;
  }
  const int t = token_type(list, next);
  if (t == ids::NEWLINE || t == end_of_text) return d.offer(list.span(at), "record");
  if (t != ids::BLOCK_OPEN && t != ids::DICT_OPEN) return;
  constexpr std::string_view framework_bases[] = {"(Module)",      "(nn.Module)", "(torch.nn.Module)", "(object)",
                                                  "(keras.Model)", "(Model)",     "(Layer)",           "()"};
  Fix fix{fmt::format("Change to `module {}`", list.text(at + 1)), {{list.span(at), "module"}}};
  if (bases &&
      std::find(std::begin(framework_bases), std::end(framework_bases), bases.text()) != std::end(framework_bases))
    fix.edits.push_back({bases, ""});
  d.fixes.push_back(std::move(fix));
}

constexpr std::string_view raises = "`fail(\"why\")` raises an error";

constexpr ForeignWord symbols[] = {
    {"elif", "`elif` is written `else if`", "", to_else_if},
    {"class", "there are no classes",
     "`module NAME(configuration) { ... }` declares objects with fields and methods, `record NAME(x: int)` immutable "
     "values",
     to_module},
    {"let", "a name is bound without `let`", "write `x = value`", drop_words},
    {"except", "`except` is written `catch`", "`catch value, index as e { ... }` names kinds of errors", to_catch},
    {"raise", "there is no `raise`", raises, to_fail},
    {"lambda", "a lambda is written `(x) => expression`", "", to_lambda},
    {"yield", "there are no generators: `yield` is reserved", "return a list"},
    {"del", "names are not deleted: `del` is reserved", "an entry of a dict or list is taken out by `d.pop(key)`",
     to_pop},
    {"global", "`global` is reserved", "`nonlocal NAME` binds a name of the file as well", to_nonlocal},
    {"async", "`async` is reserved", ""},
    {"await", "`await` is reserved", ""},
    {"match", "there is no `match`", "write `if` and `else if`"},
    {"&&", "`&&` is written `and`", "", to_and},
    {"||", "`||` is written `or`", "", to_or},
    {"!", "`!` is written `not`", "", to_not},
    {"++", "there is no `++`", "write `x += 1`", to_increment},
    {"--", "there is no `--`", "write `x -= 1`", to_increment},
    {";", "a statement ends at the end of its line, without `;`", "put the next one on a separate line",
     mend_semicolons},
    {"->", "`->` has no meaning here",
     "a function declares its result before its block, `def f(x) -> SPEC { ... }`; a lambda is written `(x) => "
     "expression`",
     to_arrow},
    {"?", "`?` has no meaning here", "a choice is written `a if condition else b`", to_conditional},
    {"$", "`$` has no meaning here", "an interpolation is written f\"{name}\""},
    {"`", "a backtick has no meaning here", "strings take ' or \""},
    {"\\", "a line is not continued with `\\`", "end it with an operator or a comma, or put the whole in brackets",
     drop_backslash},
};

constexpr ForeignWord starters[] = {
    {"fn", "a function is declared with `def`", "", to_def},
    {"func", "a function is declared with `def`", "", to_def},
    {"fun", "a function is declared with `def`", "", to_def},
    {"function", "a function is declared with `def`", "", to_def},
    {"var", "a name is bound without `var`", "write `x = value`", drop_words},
    {"val", "a name is bound without `val`", "write `x = value`", drop_words},
    {"const", "a name is bound without `const`", "write `x = value`", drop_words},
    {"local", "a name is bound without `local`", "write `x = value`", drop_words},
    {"auto", "a name is bound without `auto`", "write `x = value`", drop_words},
    {"int", "a name is bound without its type", "write `x = value`", drop_words},
    {"float", "a name is bound without its type", "write `x = value`", drop_words},
    {"double", "a name is bound without its type", "write `x = value`", drop_words},
    {"struct", "there are no structs", "`record NAME(width: int, depth: int = 4)` declares an immutable value",
     mend_record},
    {"use", "a file is imported with `import`", "", to_import},
    {"using", "a file is imported with `import`", "", to_import},
    {"include", "a file is imported with `import`", "", to_import},
    {"require", "a file is imported with `import`", "", to_import},
    {"elseif", "`elseif` is written `else if`", "", to_else_if},
    {"elsif", "`elsif` is written `else if`", "", to_else_if},
    {"switch", "there is no `switch`", "write `if` and `else if`"},
    {"unless", "there is no `unless`", "write `if not ...`", to_if_not},
    {"until", "there is no `until`", "write `while not ...`", to_while_not},
    {"throw", "there is no `throw`", raises, to_fail},
};

const ForeignWord* find(std::span<const ForeignWord> table, std::string_view word) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const ForeignWord& f) { return f.word == word; });
  return found == table.end() ? nullptr : &*found;
}

}  // namespace

const ForeignWord* foreign_symbol(std::string_view word) { return find(symbols, word); }
const ForeignWord* foreign_starter(std::string_view word) { return find(starters, word); }

}  // namespace pxl::syntax
