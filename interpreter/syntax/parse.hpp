// The parser. ANTLR is an implementation detail of interpreter/syntax and not visible here.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl {

struct ParseResult {
  ast::TreePtr tree;                    ///< null if there are errors
  std::vector<Diagnostic> diagnostics;  ///< in order of position; several if the parser could recover
};

/// Accepts any bytes: never crashes and never throws for invalid input. Invalid UTF-8, unbalanced brackets and nesting
/// deeper than 200 are diagnostics.
ParseResult parse(const SourceFile& source);

/// Whether a text is a complete input, an incomplete one, or invalid. The REPL uses it.
enum class Completeness : uint8_t { complete, incomplete, invalid };
Completeness completeness(const SourceFile& source);

/// Offset of the first byte that is not valid UTF-8 (surrogates and overlong forms are invalid), or npos.
size_t invalid_utf8(std::string_view text);

/// Parses the text. Throws Error with all diagnostics.
ast::TreePtr parse_or_throw(const SourceFile& source);

/// Keywords of the language, for completion, highlighting and editors: reserved words, and contextual keywords of
/// declarations.
const std::vector<std::string>& reserved_words();
const std::vector<std::string>& declaring_words();

}  // namespace pxl
