// Messages for unexpected tokens: first tables of syntax from other languages (foreign_syntax.hpp), then slips
// (slips.cpp), then the class of the expected token. A message with a remedy offers it as an edit.
#include "interpreter/syntax/messages.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "interpreter/syntax/error_context.hpp"
#include "interpreter/syntax/fixes/foreign_syntax.hpp"
#include "interpreter/syntax/fixes/syntax_fixes.hpp"
#include "interpreter/syntax/parse.hpp"
#include "runtime/base/diagnostics/codes.hpp"
#include "runtime/base/text/suggest.hpp"
#include "runtime/base/text/utf8.hpp"

namespace pxl::syntax {
namespace {

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
    case ids::CATCH: return "`catch`";
    case ids::FINALLY: return "`finally`";
    case ids::FOR: return "`for`";
    case ids::IMPORT: return "`import`";
    case ids::DEF: return "`def`";
    case ids::ARROW: return "`=>`";
    case ids::RESULT: return "`->`";
    case ids::STRING: return "a string";
    default: return {};
  }
}

class Describe : public ErrorContext {
 public:
  using ErrorContext::ErrorContext;

  Diagnostic run() {
    if (!habit() && !unknown_character() && !slip()) expectation();
    return std::move(out_);
  }

 private:
  bool habit() {
    int t = type(at_);
    std::string word = text(at_);
    if (word == "except" && expects(ids::ELSE)) {
      foreign("`except` is written `else` here", "`try VALUE else OTHERWISE` takes errors of files and data");
      return mend("else");
    }
    if (t == ids::BANG && julia_call()) return true;
    if (t == ids::HABIT || t == ids::DOUBLED || t == ids::LATER || t == ids::BANG || t == ids::RESULT)
      if (const ForeignWord* row = foreign_symbol(word)) return foreign(*row, at_);
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
    if (type(at_) == ids::NEWLINE && expects(ids::BLOCK_OPEN)) {
      out_.notes.push_back("the `{` of a block must be on the line of its head");
      mend_missing_brace(list_, at_, out_);
    }
    if (type(at_) == ids::ASSIGN && expects(ids::RPAREN))
      out_.notes.push_back("a named argument is `name = value`; compare with `==`");
  }
};

}  // namespace

Diagnostic describe(const TokenList& list, const SyntaxError& error) { return Describe(list, error).run(); }

}  // namespace pxl::syntax
