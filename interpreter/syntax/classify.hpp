// Classifies the tokens of a text for syntax colours, completion and editors.
#pragma once

#include <vector>

#include "runtime/base/diagnostics/source.hpp"

namespace pxl {

enum class TokenClass : uint8_t {
  keyword,   ///< `if`, `and`, `module`
  declarer,  ///< `param`, `program`, `stream` at the beginning of a declaration
  constant,  ///< `true`, `false`, `none`
  name,
  argument,  ///< name of a keyword argument
  number,
  string,  ///< also f-string text and quotes
  comment,
  documentation,  ///< `##`
  bracket,        ///< any of ( ) [ ] { }
  operation,
  dot,
  comma,
  unknown  ///< not valid pxl
};

struct ClassifiedToken {
  TokenClass kind;
  uint32_t begin, end;  ///< byte offsets
};

/// Returns tokens in order of position, without whitespace and newlines. Accepts any bytes: returns an empty list for
/// invalid UTF-8.
std::vector<ClassifiedToken> classify_tokens(const SourceFile& source);

}  // namespace pxl
