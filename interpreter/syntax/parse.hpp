// Text to tree. ANTLR is behind this header and never seen outside interpreter/syntax.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl {

struct ParseResult {
  ast::TreePtr tree;                    ///< null where there are errors
  std::vector<Diagnostic> diagnostics;  ///< in order of position; several where the parser could go on
};

/// Any bytes: never crashes, never throws for bad input; invalid UTF-8, unbalanced brackets and nesting deeper than
/// 200 are diagnostics.
ParseResult parse(const SourceFile& source);

/// For a REPL: whether a text is a whole input, the beginning of one, or wrong at once.
enum class Completeness : uint8_t { complete, incomplete, invalid };
Completeness completeness(const SourceFile& source);

/// Offset of the first byte that is not UTF-8 (surrogates and overlong forms are not), or npos.
size_t invalid_utf8(std::string_view text);

/// Parses or throws Error with all diagnostics.
ast::TreePtr parse_or_throw(const SourceFile& source);

/// The language's words, for completion, highlighting and editors: reserved ones, and those that declare.
const std::vector<std::string>& reserved_words();
const std::vector<std::string>& declaring_words();

}  // namespace pxl
