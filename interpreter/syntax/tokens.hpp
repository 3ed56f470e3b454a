// The token list of a text as parser and tools use it: without newlines that end no statement, braces classified,
// brackets balanced. Made by resolve_newlines() (newlines.cpp), completed by assign_roles() (roles.cpp).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pxl_grammar_ids.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl::syntax {

constexpr int max_depth = 200;   ///< nesting of brackets and blocks; of operators that nest to the right
constexpr int end_of_text = -1;  ///< token type; ANTLR's EOF
constexpr uint32_t no_token = ~0u;

struct Token {
  int type = end_of_text;
  uint32_t begin = 0, end = 0;    ///< byte offsets
  uint32_t enclosing = no_token;  ///< innermost enclosing opening bracket; a closer is inside its bracket
  uint32_t partner = no_token;    ///< of an opening its closer, of a closer its opening
  bool synthetic = false;         ///< a closer that is missing in the text
  bool unclosed = false;          ///< an opening whose closer is synthetic
};

/// A comment, `#` or `##`, without its line end.
struct Comment {
  uint32_t begin = 0, end = 0;
  bool own_line = false;  ///< preceded on its line by whitespace only
};

struct TokenList {
  const SourceFile* source = nullptr;
  std::vector<Token> tokens;                       ///< the last is end_of_text
  std::vector<Comment> comments;                   ///< in order
  std::unordered_map<uint32_t, std::string> docs;  ///< `##` text, by the token directly after it
  std::vector<Diagnostic> problems;                ///< bad characters, strings, brackets
  size_t problems_before_end = 0;                  ///< how many of them do not concern constructs open at the end
  uint32_t end = 0;                                ///< index of the first token at the end of the text
  bool open_at_end = false;                        ///< a bracket or triple-quoted string
  bool doc_at_end = false;                         ///< a doc comment has no declaration yet

  Span span(uint32_t i) const { return {source, tokens[i].begin, tokens[i].end}; }
  std::string_view text(uint32_t i) const { return span(i).text(); }
};

/// Whether no statement can end after a token of this type: operators, `=`, `,`, `:`, `.`, ...
bool continues_line(int type);
/// Whether a value may end with a token of this type.
bool ends_operand(int type);
/// Reserved words (`ids::AND` to `ids::LATER`).
bool is_word(int type);

/// Charges `token_ns` of work for each token (budget.hpp); with 0 it heeds no interrupt.
TokenList resolve_newlines(const SourceFile& source, int64_t token_ns = 0);
void assign_roles(TokenList& list);

}  // namespace pxl::syntax
