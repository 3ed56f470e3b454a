// Messages for unexpected tokens: first tables of syntax from other languages, then common mistakes, then the class of
// the expected token.
#include "interpreter/syntax/messages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/syntax/parse.hpp"
#include "runtime/base/codes.hpp"
#include "runtime/base/suggest.hpp"
#include "runtime/base/utf8.hpp"

namespace pxl::syntax {
namespace {

struct Habit {
  std::string_view word, message, way_out;
};

// Reserved words and symbols that pxl does not use.
constexpr Habit habits[] = {
    {"elif", "`elif` is written `else if`", ""},
    {"class", "there are no classes", "`module NAME(configuration) { ... }` declares objects with fields and methods"},
    {"let", "a name is bound without `let`", "write `x = value`"},
    {"try", "errors are not caught: there is no `try`", "in a test, `with expect_error(\"text\") { ... }` expects one"},
    {"except", "errors are not caught: there is no `except`",
     "in a test, `with expect_error(\"text\") { ... }` expects one"},
    {"raise", "there is no `raise`", "`assert condition, \"why\"` stops with a message"},
    {"lambda", "a lambda is written `(x) => expression`", ""},
    {"yield", "there are no generators: `yield` is reserved", "return a list"},
    {"del", "names are not deleted: `del` is reserved", ""},
    {"global", "`global` is reserved", "`nonlocal NAME` binds a name of the file as well"},
    {"async", "`async` is reserved", ""},
    {"await", "`await` is reserved", ""},
    {"match", "there is no `match`", "write `if` and `else if`"},
    {"&&", "`&&` is written `and`", ""},
    {"||", "`||` is written `or`", ""},
    {"!", "`!` is written `not`", ""},
    {"++", "there is no `++`", "write `x += 1`"},
    {"--", "there is no `--`", "write `x -= 1`"},
    {";", "a statement ends at the end of its line, without `;`", "put the next one on a separate line"},
    {"->", "`->` has no meaning here",
     "a function declares its result before its block, `def f(x) -> SPEC { ... }`; a lambda is written `(x) => "
     "expression`"},
    {"?", "`?` has no meaning here", "a choice is written `a if condition else b`"},
    {"$", "`$` has no meaning here", "an interpolation is written f\"{name}\""},
    {"`", "a backtick has no meaning here", "strings take ' or \""},
    {"\\", "a line is not continued with `\\`", "end it with an operator or a comma, or put the whole in brackets"},
};

// Ordinary names that begin a statement in other languages.
constexpr Habit starters[] = {
    {"fn", "a function is declared with `def`", ""},
    {"func", "a function is declared with `def`", ""},
    {"fun", "a function is declared with `def`", ""},
    {"function", "a function is declared with `def`", ""},
    {"var", "a name is bound without `var`", "write `x = value`"},
    {"val", "a name is bound without `val`", "write `x = value`"},
    {"const", "a name is bound without `const`", "write `x = value`"},
    {"auto", "a name is bound without `auto`", "write `x = value`"},
    {"int", "a name is bound without its type", "write `x = value`"},
    {"float", "a name is bound without its type", "write `x = value`"},
    {"struct", "there are no structs", "`record NAME(width: int, depth: int = 4)` declares an immutable value"},
    {"use", "a file is imported with `import`", ""},
    {"include", "a file is imported with `import`", ""},
    {"require", "a file is imported with `import`", ""},
    {"elseif", "`elseif` is written `else if`", ""},
    {"elsif", "`elsif` is written `else if`", ""},
    {"switch", "there is no `switch`", "write `if` and `else if`"},
    {"unless", "there is no `unless`", "write `if not ...`"},
    {"until", "there is no `until`", "write `while not ...`"},
    {"throw", "there is no `throw`", "`assert condition, \"why\"` stops with a message"},
    {"catch", "errors are not caught: there is no `catch`", ""},
};

std::string indefinite(int type) {
  switch (type) {
    case ids::NAME: return "a name";
    case ids::BLOCK_OPEN:
    case ids::DICT_OPEN: return "`{`";
    case ids::BLOCK_CLOSE:
    case ids::DICT_CLOSE:
    case ids::INTERPOLATION_CLOSE: return "`}`";
    case ids::RPAREN: return "`)`";
    case ids::RBRACKET: return "`]`";
    case ids::LPAREN: return "`(`";
    case ids::COLON: return "`:`";
    case ids::COMMA: return "`,`";
    case ids::ASSIGN: return "`=`";
    case ids::IN: return "`in`";
    case ids::OUT: return "`out`";
    case ids::IF: return "`if`";
    case ids::ELSE: return "`else`";
    case ids::FOR: return "`for`";
    case ids::IMPORT: return "`import`";
    case ids::DEF: return "`def`";
    case ids::ARROW: return "`=>`";
    case ids::RESULT: return "`->`";
    case ids::STRING: return "a string";
    default: return {};
  }
}

class Describe {
 public:
  Describe(const TokenList& list, const SyntaxError& error) : list_(list), error_(error), at_(error.token) {
    out_.span = place();
    out_.code = codes::syntax;
  }

  Diagnostic run() {
    if (!habit() && !unknown_character() && !slip()) expectation();
    return std::move(out_);
  }

 private:
  int type(uint32_t i) const { return i < list_.tokens.size() ? list_.tokens[i].type : end_of_text; }
  std::string text(uint32_t i) const { return i < list_.tokens.size() ? std::string(list_.text(i)) : ""; }
  int previous() const { return at_ == 0 ? ids::NEWLINE : type(at_ - 1); }
  bool expects(int t) const {
    return std::find(error_.expected.begin(), error_.expected.end(), t) != error_.expected.end();
  }
  bool starts_line() const { return previous() == ids::NEWLINE || previous() == ids::BLOCK_OPEN; }

  bool say(std::string message, std::string_view note = {}) {
    out_.message = std::move(message);
    if (!note.empty()) out_.notes.emplace_back(note);
    return true;
  }
  /// The same, for syntax of another language.
  bool foreign(std::string message, std::string_view note = {}) {
    out_.code = codes::other_language;
    return say(std::move(message), note);
  }

  // Ends of lines and of the text, and synthetic closers, have no width: the location is directly after the previous
  // token.
  Span place() const {
    const Token& t = list_.tokens[at_];
    if (at_ > 0 && (t.type == ids::NEWLINE || t.type == end_of_text || t.synthetic)) {
      uint32_t end = list_.tokens[at_ - 1].end;
      return {list_.source, end, end};
    }
    return list_.span(at_);
  }

  bool habit() {
    int t = type(at_);
    std::string word = text(at_);
    if (t == ids::HABIT || t == ids::DOUBLED || t == ids::LATER || t == ids::BANG || t == ids::RESULT)
      for (const Habit& h : habits)
        if (h.word == word) return foreign(std::string(h.message), h.way_out);
    return false;
  }

  bool unknown_character() {
    if (type(at_) != ids::UNKNOWN) return false;
    std::string word = text(at_);
    size_t i = 0;
    char32_t c = next_code_point(word, i);
    bool printable = c > 0x20 && c != 0x7F && !(c >= 0x80 && c < 0xA1) && code_point_width(c) > 0;
    say(printable ? fmt::format("unexpected character `{}` (U+{:04X})", word, static_cast<uint32_t>(c))
                  : fmt::format("unexpected character U+{:04X}", static_cast<uint32_t>(c)));
    if (c == 0x201C || c == 0x201D || c == 0x2018 || c == 0x2019)
      out_.notes.push_back("strings take the straight quotes ' and \"");
    if (c == 0x2212 || c == 0x2013 || c == 0x2014) out_.notes.push_back("minus is `-`");
    if (c == 0xD7) out_.notes.push_back("times is `*`, or `@` for matrices");
    if (c == 0xA0 || c == 0x200B || c == 0xFEFF) out_.notes.push_back("it looks like a space; write a plain one");
    return true;
  }

  bool slip() {
    return two_names() || third_equals() || angle_unequal() || no_initial_value() || assigned_condition() ||
           colon_for_brace() || decorator() || stray_else() || import_star() || generator() || lone_brace() ||
           set_literal() || reserved_name() || typed_assignment() || direction() || dots() || counting_loop();
  }

  // `progam p {`, `let x`, `print x`: a keyword of another language, or a misspelt one.
  bool two_names() {
    if (at_ == 0) return false;
    if (type(at_ - 1) != ids::NAME || (at_ >= 2 && type(at_ - 2) != ids::NEWLINE && type(at_ - 2) != ids::BLOCK_OPEN))
      return false;
    int t = type(at_);
    std::string word = text(at_ - 1);
    bool operand = t == ids::NAME || t == ids::STRING || t == ids::INT || t == ids::FLOAT || t == ids::FSTRING_OPEN ||
                   t == ids::LAMBDA_NAME || t == ids::BLOCK_OPEN || t == ids::TRUE || t == ids::FALSE ||
                   t == ids::NONE || t == ids::NOT || (is_word(t) && t != ids::LATER);
    if (!operand || text(at_).starts_with('.')) return false;
    out_.span = list_.span(at_ - 1);
    for (const Habit& h : starters)
      if (h.word == word) return foreign(std::string(h.message), h.way_out);
    std::vector<std::string> words = declaring_words();
    for (const char* w : {"if", "else", "for", "while", "return", "def", "with", "from", "import", "assert", "module"})
      words.emplace_back(w);
    if (auto found = nearest(word, words))
      return say(fmt::format("`{}` cannot begin a statement", word), fmt::format("did you mean `{}`?", *found));
    if (word == "print" || (t != ids::NAME && t != ids::BLOCK_OPEN && !is_word(t)))
      return say(fmt::format("a call needs parentheses: `{}(...)`", word));
    out_.span = place();
    return false;
  }

  bool third_equals() {
    if (type(at_) != ids::ASSIGN || (previous() != ids::EQUAL && previous() != ids::NOT_EQUAL)) return false;
    if (list_.tokens[at_ - 1].end != list_.tokens[at_].begin) return false;
    out_.span = join(list_.span(at_ - 1), list_.span(at_));
    return foreign(fmt::format("`{}=` is written `{}`", text(at_ - 1), text(at_ - 1)));
  }

  bool angle_unequal() {
    if (type(at_) != ids::GREATER || previous() != ids::LESS || list_.tokens[at_ - 1].end != list_.tokens[at_].begin)
      return false;
    out_.span = join(list_.span(at_ - 1), list_.span(at_));
    return foreign("`<>` is written `!=`");
  }

  bool no_initial_value() {
    if (!expects(ids::ASSIGN) || error_.statement == no_token) return false;
    const int head = type(error_.statement);
    if (head != ids::VARIABLE && head != ids::CONSTANT) return false;
    const std::string word = text(error_.statement);
    return say(fmt::format("a {} needs an initial value", word),
               fmt::format("such as `{} x: float32[8, 784] = 0`", word));
  }

  bool assigned_condition() {
    if (type(at_) != ids::ASSIGN || error_.statement == no_token) return false;
    int head = type(error_.statement);
    if (head != ids::IF && head != ids::WHILE && head != ids::ASSERT) return false;
    return say("`=` binds a name; compare with `==`");
  }

  bool colon_for_brace() {
    if (type(at_) != ids::COLON) return false;
    if (type(at_ + 1) == ids::ASSIGN && list_.tokens[at_].end == list_.tokens[at_ + 1].begin)
      return foreign("there is no `:=`", "bind the name on a separate line with `=`");
    if (expects(ids::BLOCK_OPEN)) return foreign("a block is written in braces: `{ ... }`, without `:`");
    return false;
  }

  bool decorator() {
    if (type(at_) != ids::AT || !starts_line()) return false;
    return foreign("there are no decorators",
                   "contexts of a function follow its parameters: `def f(x) with in_sequence() { ... }`");
  }

  bool stray_else() {
    if (!starts_line() && previous() != ids::BLOCK_CLOSE) return false;
    if (type(at_) != ids::ELSE && type(at_) != ids::ELSE_IF) return false;
    return say("this `else` has no `if`", "it follows the `}` of an `if` block");
  }

  bool import_star() {
    if (type(at_) != ids::STAR || (previous() != ids::IMPORT && previous() != ids::LPAREN)) return false;
    if (error_.statement == no_token || type(error_.statement) != ids::FROM) return false;
    return foreign("there is no `import *`", "name what is imported: `from nn import Linear, Dropout`");
  }

  bool generator() {
    if (type(at_) != ids::FOR || !expects(ids::RPAREN)) return false;
    return foreign("a comprehension needs square brackets", "write `[value for name in list]`");
  }

  bool set_literal() {
    if (!expects(ids::COLON) || (type(at_) != ids::COMMA && type(at_) != ids::DICT_CLOSE)) return false;
    uint32_t around = list_.tokens[at_].enclosing;
    if (around == no_token || type(around) != ids::DICT_OPEN) return false;
    return foreign("expected `:` and a value", "a dict is written `{key: value}`; there are no sets");
  }

  // Newline resolution treats a brace on its own line as a dict, so the error is inside or after it.
  bool lone_brace() {
    uint32_t around = list_.tokens[at_].enclosing;
    uint32_t brace = type(at_) == ids::DICT_OPEN ? at_ : around;
    if (brace == no_token || type(brace) != ids::DICT_OPEN) return false;
    int before = brace == 0 ? ids::NEWLINE : type(brace - 1);
    if (before == ids::COLON && brace != at_) return false;
    if (before != ids::NEWLINE && before != ids::BLOCK_OPEN && before != ids::BLOCK_CLOSE && brace != at_) return false;
    if (brace == at_ && before != ids::BLOCK_CLOSE && before != ids::NEWLINE) return false;
    out_.span = list_.span(brace);
    return say("this block has no head", "its `{` must be on the line of its `if`, `for`, `def`, ...");
  }

  bool reserved_name() {
    int t = type(at_);
    if (!is_word(t) || !expects(ids::NAME)) return false;
    bool only_name = !expects(ids::INT);
    if (only_name) return say(fmt::format("`{}` is a reserved word, not a name", text(at_)));
    if (type(at_ + 1) == ids::ASSIGN && starts_line())
      return say(fmt::format("`{}` is a reserved word, not a name", text(at_)));
    return false;
  }

  bool typed_assignment() {
    if (type(at_) != ids::COLON || at_ == 0 || type(at_ - 1) != ids::NAME) return false;
    if (at_ >= 2 && type(at_ - 2) != ids::NEWLINE && type(at_ - 2) != ids::BLOCK_OPEN) return false;
    return foreign("a name is bound without its type",
                   "write `x = value`; `param`, `variable` and `stream` take a spec");
  }

  bool direction() {
    if (previous() != ids::STREAM) return false;
    return say("a stream is `in` or `out`", "write `stream in NAME: SPEC` or `stream out NAME = TENSOR`");
  }

  // `1..10`, `a..b`: the lexer reads `1.` and `.10`.
  bool dots() {
    if (at_ == 0 || list_.tokens[at_ - 1].end != list_.tokens[at_].begin) return false;
    if (!text(at_ - 1).ends_with('.') || !text(at_).starts_with('.')) return false;
    return foreign("there is no `..`", "write `range(1, 10)`; a slice is written `x[1:10]`");
  }

  // `for (i = 0; i < 3; i++)`
  bool counting_loop() {
    const uint32_t around = list_.tokens[at_].enclosing;
    if (around == no_token || around == 0 || type(around) != ids::LPAREN || type(around - 1) != ids::FOR) return false;
    if (type(at_) != ids::ASSIGN && type(at_ + 1) != ids::ASSIGN) return false;
    return foreign("a `for` goes through elements", "write `for i in range(3) { ... }`");
  }

  std::string found() const {
    const Token& t = list_.tokens[at_];
    if (t.synthetic || t.type == end_of_text) return "the end of the text";
    switch (t.type) {
      case ids::NEWLINE: return "the end of the line";
      case ids::STRING:
      case ids::FSTRING_OPEN: return "a string";
      case ids::FTEXT: return "text";
      default: break;
    }
    std::string word = text(at_);
    if (word.size() > 40) return "this";
    return fmt::format("`{}`", word);
  }

  bool behind_opening() const {
    return at_ > 0 && list_.tokens[at_ - 1].partner != no_token && !ends_operand(previous());
  }

  bool parameters_begin() const {
    if (previous() == ids::LAMBDA_OPEN) return true;
    if (at_ < 2) return false;
    int head = type(at_ - 2) == ids::NAME && at_ >= 3 ? type(at_ - 3) : type(at_ - 2);
    return head == ids::DEF || head == ids::MODULE || head == ids::PROGRAM || head == ids::BUILD;
  }

  std::string expected() const {
    bool closers_only = std::all_of(error_.expected.begin(), error_.expected.end(), [](int t) {
      return t == ids::RPAREN || t == ids::RBRACKET || t == ids::DICT_CLOSE || t == ids::TRAILING_COMMA ||
             t == ids::COMMA;
    });
    std::vector<std::string> parts;
    auto add = [&](std::string part) {
      if (!part.empty() && std::find(parts.begin(), parts.end(), part) == parts.end()) parts.push_back(std::move(part));
    };
    if (closers_only) add(behind_opening() ? (parameters_begin() ? "a name" : "an expression") : "`,`");
    bool expression = expects(ids::INT);
    if (expression) add(expects(ids::RETURN) ? "a statement" : "an expression");
    // The end of a statement is reported as one expectation, whatever else may follow.
    if (!expression && (expects(ids::NEWLINE) || expects(end_of_text))) {
      add("the end of the line");
      return parts[0];
    }
    if (expression && expects(ids::RETURN)) return parts[0];
    for (int t : error_.expected) {
      if (expression && t != ids::RPAREN && t != ids::RBRACKET && t != ids::BLOCK_OPEN && t != ids::DICT_CLOSE)
        continue;
      if (t == ids::COMMA && closers_only) continue;
      add(indefinite(t));
    }
    if (parts.size() > 4) parts.resize(4);
    std::string all;
    for (size_t i = 0; i < parts.size(); ++i) all += (i == 0 ? "" : i + 1 == parts.size() ? " or " : ", ") + parts[i];
    return all.empty() ? "something else" : all;
  }

  void expectation() {
    say(fmt::format("expected {}, found {}", expected(), found()));
    if (type(at_) == ids::NEWLINE && expects(ids::BLOCK_OPEN))
      out_.notes.push_back("the `{` of a block must be on the line of its head");
    if (type(at_) == ids::ASSIGN && expects(ids::RPAREN))
      out_.notes.push_back("a named argument is `name = value`; compare with `==`");
  }

  const TokenList& list_;
  const SyntaxError& error_;
  uint32_t at_;
  Diagnostic out_;
};

}  // namespace

Diagnostic describe(const TokenList& list, const SyntaxError& error) { return Describe(list, error).run(); }

}  // namespace pxl::syntax
