// Slips: common mistakes that the tokens around a syntax error show.
#include <algorithm>

#include "interpreter/syntax/error_context.hpp"
#include "interpreter/syntax/fixes/foreign_dtypes.hpp"
#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/text/suggest.hpp"

namespace pxl::syntax {

bool ErrorContext::slip() {
  return test_name() || misspelt_stream() || word_operator() || dict_equals() || two_names() || catch_clause() ||
         no_spec() || record_block() || import_path() || third_equals() || angle_unequal() || no_initial_value() ||
         assigned_condition() || colon_for_brace() || decorator() || conditional_in_try() || lonely_try() ||
         stray_else() || import_star() || generator() || lambda_block() || lone_brace() || set_literal() ||
         reserved_name() || typed_assignment() || direction() || dots() || counting_loop() || slashes() ||
         dotted_operator() || bars() || leading_operator() || dtype_behind_shape() || missing_comma();
}

// `progam p {`, `let x`, `print x`: a keyword of another language, or a misspelt one.
bool ErrorContext::two_names() {
  if (at_ == 0) return false;
  if (type(at_ - 1) != ids::NAME || (at_ >= 2 && type(at_ - 2) != ids::NEWLINE && type(at_ - 2) != ids::BLOCK_OPEN))
    return false;
  int t = type(at_);
  std::string word = text(at_ - 1);
  bool operand = t == ids::NAME || t == ids::STRING || t == ids::INT || t == ids::FLOAT || t == ids::FSTRING_OPEN ||
                 t == ids::LAMBDA_NAME || t == ids::BLOCK_OPEN || t == ids::TRUE || t == ids::FALSE || t == ids::NONE ||
                 t == ids::NOT || (is_word(t) && t != ids::LATER);
  if (!operand || text(at_).starts_with('.')) return false;
  out_.span = list_.span(at_ - 1);
  if (const ForeignWord* row = foreign_starter(word)) return foreign(*row, at_ - 1);
  std::vector<std::string> words = declaring_words();
  for (const char* w : {"if", "else", "for", "while", "return", "def", "with", "from", "import", "assert", "module",
                        "try", "catch", "finally"})
    words.emplace_back(w);
  if (auto found = nearest(word, words)) {
    say(fmt::format("`{}` cannot begin a statement", word), fmt::format("did you mean `{}`?", *found));
    return mend(*found);
  }
  if (word == "print" || (t != ids::NAME && t != ids::BLOCK_OPEN && !is_word(t))) {
    say(fmt::format("a call needs parentheses: `{}(...)`", word));
    const uint32_t end = end_of_statement();
    out_.fixes.push_back({"Add the parentheses",
                          {{{list_.source, out_.span.end, list_.tokens[at_].begin}, "("},
                           {{list_.source, list_.tokens[end - 1].end, list_.tokens[end - 1].end}, ")"}}});
    return true;
  }
  out_.span = place();
  return false;
}

// `test name {`
bool ErrorContext::test_name() {
  if (at_ == 0 || text(at_ - 1) != "test" || !starts_line(at_ - 1) || type(at_) != ids::NAME) return false;
  if (type(at_ + 1) != ids::BLOCK_OPEN && type(at_ + 1) != ids::DICT_OPEN) return false;
  say("the name of a test is a text", fmt::format("it is in quotes: `test \"{}\" {{ ... }}`", text(at_)));
  return mend(fmt::format("\"{}\"", text(at_)));
}

// `steam in x: float32[2]`
bool ErrorContext::misspelt_stream() {
  if (type(at_) != ids::COLON || at_ < 3 || !starts_line(at_ - 3) || type(at_ - 1) != ids::NAME) return false;
  const std::string word = text(at_ - 3), way = text(at_ - 2);
  if (type(at_ - 3) != ids::NAME || (way != "in" && way != "out") || nearest(word, {"stream"}) != "stream")
    return false;
  out_.span = list_.span(at_ - 3);
  say(fmt::format("`{}` cannot begin a statement", word), "did you mean `stream`?");
  return mend("stream");
}

// `7 div 2`
bool ErrorContext::word_operator() {
  if (type(at_) != ids::NAME || !ends_operand(previous())) return false;
  const std::string word = text(at_);
  const std::string here = word == "div" ? "//" : word == "mod" ? "%" : "";
  if (here.empty()) return false;
  foreign(fmt::format("`{}` is written `{}`", word, here));
  return mend(here);
}

// `{"a" = 1}`
bool ErrorContext::dict_equals() {
  const uint32_t around = list_.tokens[at_].enclosing;
  if (type(at_) != ids::ASSIGN || !expects(ids::COLON) || around == no_token || type(around) != ids::DICT_OPEN)
    return false;
  say("an entry of a dict is written `key: value`");
  out_.offer({list_.source, list_.tokens[at_ - 1].end, list_.tokens[at_].end}, ":", "Change to `:`");
  return true;
}

// `x: [b, 3] f32`
bool ErrorContext::dtype_behind_shape() {
  const uint32_t open = at_ > 0 && type(at_ - 1) == ids::RBRACKET ? list_.tokens[at_ - 1].partner : no_token;
  if (type(at_) != ids::NAME || open == no_token || open == 0 || type(open - 1) != ids::COLON) return false;
  const std::string known = dtype_of_word(text(at_)), dtype = known.empty() ? text(at_) : known;
  const Span shape = join(list_.span(open), list_.span(at_ - 1));
  const std::string spec = dtype + std::string(shape.text());
  say("a spec has its dtype before its shape", fmt::format("write `{}`", spec));
  out_.offer(join(shape, out_.span), spec);
  return true;
}

// `catch (e)`, `catch not-finite`
bool ErrorContext::catch_clause() {
  uint32_t head = at_;
  while (head > 0 && type(head) != ids::CATCH && type(head - 1) != ids::NEWLINE && at_ - head < 20) --head;
  if (type(head) != ids::CATCH || head == at_) return false;
  if (text(at_) == "-" && at_ == head + 2) {
    uint32_t end = at_;
    while (text(end) == "-" && (type(end + 1) == ids::NAME || is_word(type(end + 1)))) end += 2;
    return end > at_ && kind_with_dashes(at_ - 1, end - 1);
  }
  const uint32_t close = type(at_) == ids::LPAREN ? list_.tokens[at_].partner : no_token;
  if (close == no_token || list_.tokens[close].synthetic) return false;
  out_.span = join(list_.span(at_), list_.span(close));
  say("a `catch` has no parentheses",
      "`catch value as e { ... }` takes one kind, `catch as e { ... }` all that come from data and files");
  if (close == at_ + 2) return mend("as " + text(at_ + 1));
  return true;
}

bool ErrorContext::kind_with_dashes(uint32_t first, uint32_t last) {
  out_.span = join(list_.span(first), list_.span(last));
  std::string name(out_.span.text());
  std::replace(name.begin(), name.end(), '-', '_');
  say(fmt::format("a `catch` writes the kind `{}` with `_`: `{}`", out_.span.text(), name));
  return mend(name);
}

// `state x = 0`, `option rate = 0.1`
bool ErrorContext::no_spec() {
  if (type(at_) != ids::ASSIGN || !expects(ids::COLON) || at_ < 2 || !starts_line(at_ - 2)) return false;
  const std::string word = text(at_ - 2), name = text(at_ - 1);
  out_.span = list_.span(at_ - 1);
  if (word != "option")
    return say(fmt::format("a {} has a spec: its dtype and its shape", word),
               fmt::format("write `{} {}: float32[2, 3] = ...`", word, name));
  const int t = type(at_ + 1);
  const std::string kind = t == ids::INT ? "int" : t == ids::STRING ? "str" : t == ids::FLOAT ? "float" : "";
  const std::string known = t == ids::TRUE || t == ids::FALSE ? "bool" : kind;
  say("an option has a type", fmt::format("write `option {}: {} = ...`", name, known.empty() ? "float" : known));
  const Span after = {list_.source, out_.span.end, out_.span.end};
  if (!known.empty()) out_.offer(after, ": " + known, fmt::format("Add `: {}`", known));
  return true;
}

// `record Config { width: int }`
bool ErrorContext::record_block() {
  if (at_ < 2 || text(at_ - 2) != "record" || !starts_line(at_ - 2)) return false;
  if (type(at_) != ids::BLOCK_OPEN && type(at_) != ids::DICT_OPEN) return false;
  say("a record has its fields in parentheses", "write `record Config(width: int, depth: int = 4)`");
  mend_record(list_, at_ - 2, out_);
  return true;
}

// `from nets/blocks import f`, `import "layers"`
bool ErrorContext::import_path() {
  if (error_.statement == no_token) return false;
  const int head = type(error_.statement);
  if (head == ids::FROM && type(at_) == ids::SLASH && previous() == ids::NAME) {
    uint32_t end = at_;
    while (type(end) == ids::SLASH && type(end + 1) == ids::NAME) end += 2;
    if (end == at_) return false;
    out_.span = join(list_.span(at_ - 1), list_.span(end - 1));
    std::string path(out_.span.text());
    std::replace(path.begin(), path.end(), '/', '.');
    say("the folders of an import are separated by `.`", fmt::format("write `{}`", path));
    return mend(path);
  }
  if (head != ids::IMPORT || type(at_) != ids::STRING || !expects(ids::NAME)) return false;
  std::string name = text(at_).substr(1, std::max<size_t>(text(at_).size(), 2) - 2);
  if (name.ends_with(".pxl")) name.resize(name.size() - 4);
  const bool plain = !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  });
  say("a file is imported by its name, without quotes", fmt::format("write `import {}`", plain ? name : "layers"));
  return plain ? mend(name) : true;
}

bool ErrorContext::julia_call() {
  if (at_ == 0 || previous() != ids::NAME || type(at_ + 1) != ids::LPAREN) return false;
  if (list_.tokens[at_ - 1].end != list_.tokens[at_].begin) return false;
  constexpr std::pair<std::string_view, std::string_view> methods[] = {
      {"push", "append"}, {"append", "extend"}, {"pop", "pop"}, {"insert", "insert"}};
  const std::string name = text(at_ - 1);
  out_.span = join(list_.span(at_ - 1), list_.span(at_));
  foreign("names of functions do not end in `!`", "methods change a list: `xs.append(x)`");
  const auto row = std::find_if(std::begin(methods), std::end(methods), [&](const auto& m) { return m.first == name; });
  const uint32_t close = list_.tokens[at_ + 1].partner;
  if (row == std::end(methods) || close == no_token || list_.tokens[close].synthetic || type(at_ + 2) != ids::NAME)
    return true;
  const bool more = type(at_ + 3) == ids::COMMA;
  if (!more && at_ + 3 != close) return true;
  const uint32_t from = list_.tokens[more ? at_ + 4 : close].begin;
  const std::string_view rest = list_.source->text().substr(from, list_.tokens[close].begin - from);
  out_.offer(join(list_.span(at_ - 1), list_.span(close)), fmt::format("{}.{}({})", text(at_ + 2), row->second, rest));
  return true;
}

bool ErrorContext::third_equals() {
  if (type(at_) != ids::ASSIGN || (previous() != ids::EQUAL && previous() != ids::NOT_EQUAL)) return false;
  if (list_.tokens[at_ - 1].end != list_.tokens[at_].begin) return false;
  out_.span = join(list_.span(at_ - 1), list_.span(at_));
  foreign(fmt::format("`{}=` is written `{}`", text(at_ - 1), text(at_ - 1)));
  return mend(text(at_ - 1));
}

bool ErrorContext::angle_unequal() {
  if (text(at_) == "~" && type(at_ + 1) == ids::ASSIGN && list_.tokens[at_].end == list_.tokens[at_ + 1].begin) {
    out_.span = join(list_.span(at_), list_.span(at_ + 1));
    foreign("`~=` is written `!=`");
    return mend("!=");
  }
  if (type(at_) != ids::GREATER || previous() != ids::LESS || list_.tokens[at_ - 1].end != list_.tokens[at_].begin)
    return false;
  out_.span = join(list_.span(at_ - 1), list_.span(at_));
  foreign("`<>` is written `!=`");
  return mend("!=");
}

bool ErrorContext::no_initial_value() {
  if (!expects(ids::ASSIGN) || error_.statement == no_token) return false;
  const int head = type(error_.statement);
  if (head != ids::VARIABLE && head != ids::CONSTANT) return false;
  const std::string word = text(error_.statement);
  return say(fmt::format("a {} needs an initial value", word),
             fmt::format("such as `{} x: float32[8, 784] = 0`", word));
}

bool ErrorContext::assigned_condition() {
  if (type(at_) != ids::ASSIGN || error_.statement == no_token) return false;
  int head = type(error_.statement);
  if (head != ids::IF && head != ids::WHILE && head != ids::ASSERT) return false;
  say("`=` binds a name; compare with `==`");
  return mend("==");
}

bool ErrorContext::colon_for_brace() {
  if (type(at_) != ids::COLON) return false;
  if (type(at_ + 1) == ids::ASSIGN && list_.tokens[at_].end == list_.tokens[at_ + 1].begin) {
    foreign("there is no `:=`", "bind the name on a separate line with `=`");
    if (at_ >= 1 && type(at_ - 1) == ids::NAME && (at_ < 2 || starts_line(at_ - 1)))
      out_.offer(join(list_.span(at_), list_.span(at_ + 1)), "=");
    return true;
  }
  if (!expects(ids::BLOCK_OPEN)) return false;
  if (julia_range()) return true;
  foreign("a block is written in braces: `{ ... }`, without `:`");
  mend_colon_block(list_, at_, out_);
  return true;
}

// `for i in 1:10 {`
bool ErrorContext::julia_range() {
  if (error_.statement == no_token || type(error_.statement) != ids::FOR || at_ == 0) return false;
  uint32_t end = at_ + 1;
  while (type(end) != ids::BLOCK_OPEN && type(end) != ids::NEWLINE && type(end) != end_of_text) ++end;
  if (type(end) != ids::BLOCK_OPEN || end == at_ + 1 || type(at_ - 1) != ids::INT) return false;
  const Span last = join(list_.span(at_ + 1), list_.span(end - 1));
  int64_t number = 0;
  for (const char c : last.text()) number = c >= '0' && c <= '9' && number < 1000000 ? 10 * number + c - '0' : -1;
  const std::string stop = number > 0 ? std::to_string(number + 1) : fmt::format("{} + 1", last.text());
  const std::string range = fmt::format("range({}, {})", text(at_ - 1), stop);
  out_.span = join(list_.span(at_ - 1), last);
  foreign(fmt::format("the numbers of `{}` are written `{}`", out_.span.text(), range));
  return mend(range);
}

bool ErrorContext::decorator() {
  if (type(at_) != ids::AT || !starts_line()) return false;
  return foreign("there are no decorators",
                 "contexts of a function follow its parameters: `def f(x) with in_sequence() { ... }`");
}

// `try a if c else b`: the first `else` is that of the `try`.
bool ErrorContext::conditional_in_try() {
  if (type(at_) != ids::IF || !expects(ids::ELSE)) return false;
  return say("a conditional between `try` and its `else` needs brackets", "write `try (a if c else b) else d`");
}

bool ErrorContext::lonely_try() {
  if (!expects(ids::CATCH) || !expects(ids::FINALLY) || expects(ids::NEWLINE)) return false;
  if (error_.statement != no_token) out_.related.push_back({list_.span(error_.statement), "the `try`"});
  return say("this `try` has no `catch` and no `finally`",
             "`try { ... } catch value as e { ... }`; `x = try VALUE else OTHERWISE` in one expression");
}

bool ErrorContext::stray_else() {
  if (!starts_line() && previous() != ids::BLOCK_CLOSE) return false;
  if (type(at_) == ids::CATCH || type(at_) == ids::FINALLY)
    return say(fmt::format("this `{}` has no `try`", text(at_)), "it follows the `}` of a `try` block");
  if (type(at_) != ids::ELSE && type(at_) != ids::ELSE_IF) return false;
  return say("this `else` has no `if`", "it follows the `}` of an `if` block");
}

bool ErrorContext::import_star() {
  if (type(at_) != ids::STAR || (previous() != ids::IMPORT && previous() != ids::LPAREN)) return false;
  if (error_.statement == no_token || type(error_.statement) != ids::FROM) return false;
  return foreign("there is no `import *`", "name what is imported: `from nn import Linear, Dropout`");
}

bool ErrorContext::generator() {
  if (type(at_) != ids::FOR || !expects(ids::RPAREN)) return false;
  foreign("a comprehension needs square brackets", "write `[value for name in list]`");
  const uint32_t open = list_.tokens[at_].enclosing;
  if (open != no_token && type(open) == ids::LPAREN && !list_.tokens[list_.tokens[open].partner].synthetic) {
    const uint32_t first = list_.tokens[open].end, last = list_.tokens[list_.tokens[open].partner].begin;
    out_.fixes.push_back(
        {"Add the square brackets", {{{list_.source, first, first}, "["}, {{list_.source, last, last}, "]"}}});
  }
  return true;
}

bool ErrorContext::set_literal() {
  if (!expects(ids::COLON) || (type(at_) != ids::COMMA && type(at_) != ids::DICT_CLOSE && type(at_) != ids::FOR))
    return false;
  uint32_t around = list_.tokens[at_].enclosing;
  if (around == no_token || type(around) != ids::DICT_OPEN) return false;
  return foreign("expected `:` and a value", "a dict is written `{key: value}`; there are no sets");
}

// `(x) => { return x }`, `(x) => { x + 1 }`
bool ErrorContext::lambda_block() {
  const uint32_t open = list_.tokens[at_].enclosing;
  if (open == no_token || open == 0 || type(open) != ids::DICT_OPEN || type(open - 1) != ids::ARROW) return false;
  const bool at_statement = at_ == open + 1 && is_word(type(at_));
  if (!at_statement && !(type(at_) == ids::DICT_CLOSE && expects(ids::COLON))) return false;
  say(std::string(one_expression), def_with_statements);
  const uint32_t first = at_statement ? at_ + 1 : open + 1, close = list_.tokens[open].partner;
  if (close == no_token || list_.tokens[close].synthetic || close <= first) return true;
  if (at_statement && type(at_) != ids::RETURN) return true;
  out_.fixes.push_back({"Remove the braces",
                        {{{list_.source, list_.tokens[open].begin, list_.tokens[first].begin}, ""},
                         {{list_.source, list_.tokens[close - 1].end, list_.tokens[close].end}, ""}}});
  return true;
}

// Newline resolution treats a brace on its own line as a dict, so the error is inside or after it.
bool ErrorContext::lone_brace() {
  uint32_t around = list_.tokens[at_].enclosing;
  uint32_t brace = type(at_) == ids::DICT_OPEN ? at_ : around;
  if (brace == no_token || type(brace) != ids::DICT_OPEN) return false;
  int before = brace == 0 ? ids::NEWLINE : type(brace - 1);
  if (before == ids::COLON && brace != at_) return false;
  if (before != ids::NEWLINE && before != ids::BLOCK_OPEN && before != ids::BLOCK_CLOSE && brace != at_) return false;
  if (brace == at_ && before != ids::BLOCK_CLOSE && before != ids::NEWLINE) return false;
  out_.span = list_.span(brace);
  say("this block has no head", "its `{` must be on the line of its `if`, `for`, `def`, ...");
  if (before == ids::NEWLINE && brace > 1) mend_missing_brace(list_, brace - 1, out_);
  return true;
}

bool ErrorContext::reserved_name() {
  int t = type(at_);
  if (!is_word(t) || !expects(ids::NAME)) return false;
  bool only_name = !expects(ids::INT);
  if (only_name) return say(fmt::format("`{}` is a reserved word, not a name", text(at_)));
  if (type(at_ + 1) == ids::ASSIGN && starts_line())
    return say(fmt::format("`{}` is a reserved word, not a name", text(at_)));
  return false;
}

bool ErrorContext::typed_assignment() {
  if (type(at_) != ids::COLON || at_ == 0 || type(at_ - 1) != ids::NAME) return false;
  if (at_ >= 2 && type(at_ - 2) != ids::NEWLINE && type(at_ - 2) != ids::BLOCK_OPEN) return false;
  foreign("a name is bound without its type", "write `x = value`; `param`, `variable` and `stream` take a spec");
  const uint32_t equals = next_of_type(list_, at_, ids::ASSIGN);
  if (equals != no_token)
    out_.offer({list_.source, list_.tokens[at_].begin, list_.tokens[equals].begin}, " ", "Remove the type");
  return true;
}

bool ErrorContext::direction() {
  if (previous() != ids::STREAM) return false;
  say("a stream is `in` or `out`", "write `stream in NAME: SPEC` or `stream out NAME = TENSOR`");
  const std::string word = type(at_ + 1) == ids::COLON ? "in" : type(at_ + 1) == ids::ASSIGN ? "out" : "";
  if (type(at_) == ids::NAME && !word.empty())
    out_.offer({list_.source, list_.tokens[at_].begin, list_.tokens[at_].begin}, word + " ",
               fmt::format("Change to `stream {} {}`", word, text(at_)));
  return true;
}

// `1..10`, `a..b`: the lexer reads `1.` and `.10`.
bool ErrorContext::dots() {
  if (at_ == 0 || list_.tokens[at_ - 1].end != list_.tokens[at_].begin) return false;
  if (!text(at_ - 1).ends_with('.') || !text(at_).starts_with('.')) return false;
  foreign("there is no `..`", "write `range(1, 10)`; a slice is written `x[1:10]`");
  std::string first = text(at_ - 1), last = text(at_).substr(1);
  first.pop_back();
  const bool slice = list_.tokens[at_].enclosing != no_token && type(list_.tokens[at_].enclosing) == ids::LBRACKET;
  out_.offer(join(list_.span(at_ - 1), list_.span(at_)),
             slice ? first + ":" + last : fmt::format("range({}, {})", first, last));
  return true;
}

// `for (i = 0; i < 3; i++)`
bool ErrorContext::counting_loop() {
  const uint32_t around = list_.tokens[at_].enclosing;
  if (around == no_token || around == 0 || type(around) != ids::LPAREN || type(around - 1) != ids::FOR) return false;
  if (type(at_) != ids::ASSIGN && type(at_ + 1) != ids::ASSIGN) return false;
  foreign("a `for` goes through elements", "write `for i in range(3) { ... }`");
  mend_counting_loop(list_, around, out_);
  return true;
}

// `// a comment`: at the beginning of a line, or after a statement.
bool ErrorContext::slashes() {
  const int line = list_.source->position(list_.tokens[at_].begin).line;
  for (uint32_t i = at_ + 1; i-- > 0 && list_.source->position(list_.tokens[i].begin).line == line;) {
    if (text(i) != "//") continue;
    if (i != at_ && i + 2 != at_) return false;
    out_.span = list_.span(i);
    foreign("a comment begins with `#`");
    return mend("#");
  }
  return false;
}

// `a .* b`
bool ErrorContext::dotted_operator() {
  if (previous() != ids::DOT || !continues_line(type(at_)) || list_.tokens[at_ - 1].end != list_.tokens[at_].begin)
    return false;
  const std::string word = text(at_);
  const std::string here = word == "^" ? "**" : word;
  out_.span = join(list_.span(at_ - 1), list_.span(at_));
  foreign(fmt::format("`.{}` is written `{}`: operators are elementwise without the dot", word, here));
  return mend(here);
}

// `|x| x + 1`
bool ErrorContext::bars() {
  if (text(at_) != "|" && text(at_) != "||") return false;
  if (ends_operand(previous())) return false;
  foreign("a lambda is written `(x) => expression`");
  if (text(at_) == "|") mend_bars(list_, at_, out_);
  return true;
}

bool ErrorContext::leading_operator() {
  const int t = type(at_);
  const bool binary = t == ids::STAR || t == ids::SLASH || t == ids::AT || t == ids::AND || t == ids::OR ||
                      t == ids::EQUAL || t == ids::NOT_EQUAL || t == ids::LESS || t == ids::GREATER;
  if (at_ < 2 || type(at_ - 1) != ids::NEWLINE || !binary) return false;
  say(fmt::format("a statement does not begin with `{}`", text(at_)),
      "the line above ended its statement; to continue it, end it with the operator, or use brackets");
  mend_leading_operator(list_, at_, out_);
  return true;
}

// Two values in a bracket: the comma belongs after the first one.
bool ErrorContext::missing_comma() {
  const bool may_go_on =
      expects(ids::COMMA) || expects(ids::RPAREN) || expects(ids::RBRACKET) || expects(ids::DICT_CLOSE);
  if (!may_go_on || at_ == 0 || !ends_operand(previous())) return false;
  const uint32_t around = list_.tokens[at_].enclosing;
  const int t = type(at_);
  const bool operand = t == ids::NAME || t == ids::STRING || t == ids::INT || t == ids::FLOAT ||
                       t == ids::FSTRING_OPEN || t == ids::TRUE || t == ids::FALSE || t == ids::NONE ||
                       t == ids::LPAREN || t == ids::LBRACKET || t == ids::DICT_OPEN;
  if (around == no_token || type(around) == ids::BLOCK_OPEN || !operand) return false;
  const uint32_t end = list_.tokens[at_ - 1].end;
  const bool apart = list_.source->position(end).line != list_.source->position(list_.tokens[at_].begin).line;
  if (apart) out_.span = {list_.source, end, end};
  say(fmt::format("expected `,`, found {}", found()), apart ? "the next value is on the line below" : "");
  out_.offer({list_.source, end, end}, ",", "Insert the missing `,`");
  return true;
}

}  // namespace pxl::syntax
