// Edits that mend syntax errors, made from the tokens around the error.
#pragma once

#include "interpreter/syntax/tokens.hpp"

namespace pxl::syntax {

/// The type of a token; end_of_text after the last one.
inline int token_type(const TokenList& list, uint32_t i) {
  return i < list.tokens.size() ? list.tokens[i].type : end_of_text;
}
inline constexpr std::string_view one_expression = "after `=>` comes one expression";
inline constexpr std::string_view def_with_statements = "a function with statements is `def f(x) { ... }`";
/// Spaces at the beginning of the line that has an offset.
std::string_view indentation_at(const SourceFile& source, uint32_t offset);
/// The first token from `at` on that ends the line or the enclosing bracket.
uint32_t end_of_piece(const TokenList& list, uint32_t at);
/// The first token after `at`, in the same bracket and piece, of a type; no_token if there is none.
uint32_t next_of_type(const TokenList& list, uint32_t at, int type);

/// An opening without its closer: the closer at the end of the line, or after the block that indentation shows.
void mend_unclosed(const TokenList& list, uint32_t opening, Diagnostic& d);
/// A closer without its opening.
void mend_unmatched(const SourceFile& source, uint32_t begin, uint32_t end, Diagnostic& d);
/// `if x > 1:` with an indented block: a `{` in place of the colon, and a `}` after the block.
void mend_colon_block(const TokenList& list, uint32_t colon, Diagnostic& d);
/// `if x > 1` without its `{`, which is on the next line or missing.
void mend_missing_brace(const TokenList& list, uint32_t newline, Diagnostic& d);
/// A `;`: all of its line.
void mend_semicolons(const TokenList& list, uint32_t at, Diagnostic& d);
/// A line that begins with an operator, and the lines like it below: the operators end the lines before.
void mend_leading_operator(const TokenList& list, uint32_t at, Diagnostic& d);
/// `for (int i = 0; i < n; i++)`, from the `(` on.
void mend_counting_loop(const TokenList& list, uint32_t parenthesis, Diagnostic& d);
/// `|x| x + 1`, from the first bar on.
void mend_bars(const TokenList& list, uint32_t bar, Diagnostic& d);
/// `struct Config { width: int = 3 }` from its first word on: a record, whose fields are in parentheses.
void mend_record(const TokenList& list, uint32_t word, Diagnostic& d);
/// `f(x) = x + 1`.
void mend_equation(const SourceFile& source, Span target, Span value, Diagnostic& d);

}  // namespace pxl::syntax
