// The context that messages of unexpected tokens share: the error's token, the tokens around it, and the new
// diagnostic.
#pragma once

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "interpreter/syntax/fixes/foreign_syntax.hpp"
#include "interpreter/syntax/parse_tree.hpp"
#include "runtime/base/diagnostics/codes.hpp"

namespace pxl::syntax {

class ErrorContext {
 public:
  ErrorContext(const TokenList& list, const SyntaxError& error) : list_(list), error_(error), at_(error.token) {
    out_.span = place();
    out_.code = codes::syntax;
  }
  /// The diagnostic of a slip: a common mistake that the tokens show. Returns false if there is none.
  bool slip();
  /// `push!(xs, x)`.
  bool julia_call();

 protected:
  int type(uint32_t i) const { return i < list_.tokens.size() ? list_.tokens[i].type : end_of_text; }
  std::string text(uint32_t i) const { return i < list_.tokens.size() ? std::string(list_.text(i)) : ""; }
  int previous() const { return at_ == 0 ? ids::NEWLINE : type(at_ - 1); }
  bool expects(int t) const {
    return std::find(error_.expected.begin(), error_.expected.end(), t) != error_.expected.end();
  }
  bool starts_line() const { return starts_line(at_); }
  bool starts_line(uint32_t i) const { return i == 0 || type(i - 1) == ids::NEWLINE || type(i - 1) == ids::BLOCK_OPEN; }
  /// The token that ends the statement of the error.
  uint32_t end_of_statement() const {
    uint32_t i = at_;
    while (type(i) != end_of_text && !(list_.tokens[i].enclosing == list_.tokens[at_].enclosing &&
                                       (type(i) == ids::NEWLINE || type(i) == ids::BLOCK_CLOSE || text(i) == ";")))
      ++i;
    return i;
  }

  bool say(std::string message, std::string_view note = {}) {
    out_.message = std::move(message);
    if (!note.empty()) out_.notes.emplace_back(note);
    return true;
  }
  /// The same, for a row of foreign_syntax.hpp.
  bool foreign(const ForeignWord& row, uint32_t at) {
    foreign(std::string(row.message), row.way_out);
    if (row.mend) row.mend(list_, at, out_);
    return true;
  }
  /// Offers another text for what is marked.
  bool mend(std::string text, std::string title = {}) {
    out_.offer(out_.span, std::move(text), std::move(title));
    return true;
  }
  /// The same, for syntax of another language.
  bool foreign(std::string message, std::string_view note = {}) {
    out_.code = codes::other_language;
    return say(std::move(message), note);
  }

  // The end of a line or text, and a synthetic closer, have no width: the location is directly after the previous
  // token.
  Span place() const {
    const Token& t = list_.tokens[at_];
    if (at_ > 0 && (t.type == ids::NEWLINE || t.type == end_of_text || t.synthetic)) {
      uint32_t end = list_.tokens[at_ - 1].end;
      return {list_.source, end, end};
    }
    return list_.span(at_);
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

  const TokenList& list_;
  const SyntaxError& error_;
  uint32_t at_;
  Diagnostic out_;

 private:
  bool misspelt_stream(), word_operator(), dict_equals();
  bool kind_with_dashes(uint32_t first, uint32_t last);
  bool two_names(), third_equals(), angle_unequal(), no_initial_value(), assigned_condition(), colon_for_brace(),
      julia_range(), decorator(), conditional_in_try(), lonely_try(), catch_clause(), no_spec(), test_name(),
      record_block(), import_path(), stray_else(), import_star(), generator(), set_literal(), lone_brace(),
      lambda_block(), reserved_name(), typed_assignment(), direction(), dots(), counting_loop(), slashes(),
      dotted_operator(), bars(), leading_operator(), missing_comma(), dtype_behind_shape();
};

}  // namespace pxl::syntax
