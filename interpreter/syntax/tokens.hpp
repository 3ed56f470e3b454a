// The token list of a text for the parser and tools: newlines inside statements are removed, braces are classified,
// brackets are balanced. resolve_newlines() (newlines.cpp) makes it, and assign_roles() (roles.cpp) completes it.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "pxl_grammar_ids.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::syntax {

constexpr int max_depth = 200;   ///< maximum nesting of brackets and blocks, and of operators that nest to the right
constexpr int end_of_text = -1;  ///< token type; ANTLR's EOF
constexpr uint32_t no_token = ~0u;

struct Token {
  int type = end_of_text;
  uint32_t begin = 0, end = 0;    ///< byte offsets
  uint32_t enclosing = no_token;  ///< innermost enclosing opening bracket; a closer is inside its bracket
  uint32_t partner = no_token;    ///< the closer of an opening, or the opening of a closer
  bool synthetic = false;         ///< a closer that the text lacks
  bool unclosed = false;          ///< an opening whose closer is synthetic
};

/// A comment, `#` or `##`, without its line end.
struct Comment {
  uint32_t begin = 0, end = 0;
  bool own_line = false;  ///< preceded on its line by whitespace only
};

struct TokenList {
  const SourceFile* source = nullptr;
  std::vector<Token> tokens;                       ///< the last token is end_of_text
  std::vector<Comment> comments;                   ///< comments in order
  std::unordered_map<uint32_t, std::string> docs;  ///< `##` text, by the statement's first token below it
  std::vector<Diagnostic> problems;                ///< problems with characters, strings and brackets
  size_t problems_before_end = 0;                  ///< number of problems outside constructs that are open at the end
  uint32_t end = 0;                                ///< index of the first token at the end of the text
  bool open_at_end = false;                        ///< a bracket or triple-quoted string is open
  bool doc_at_end = false;                         ///< a doc comment has no declaration yet

  Span span(uint32_t i) const { return {source, tokens[i].begin, tokens[i].end}; }
  std::string_view text(uint32_t i) const { return span(i).text(); }
};

/// Whether no statement can end after a token with this type: operators, `=`, `,`, `:`, `.`, ...
bool continues_line(int type);
/// Whether a value may end with a token of this type.
bool ends_operand(int type);
/// Whether the type is a reserved word (`ids::AND` to `ids::LATER`).
bool is_word(int type);

/// Charges `token_ns` of work for each token (budget.hpp). If it is 0, interrupts are ignored.
TokenList resolve_newlines(const SourceFile& source, int64_t token_ns = 0);
void assign_roles(TokenList& list);

}  // namespace pxl::syntax
