// The tokens of a text with what they are to a reader: for colours, completion and editors.
#pragma once

#include <vector>

#include "runtime/base/source.hpp"

namespace pxl {

enum class TokenClass : uint8_t {
  keyword,   ///< `if`, `and`, `module`
  declarer,  ///< `param`, `program`, `stream` where they declare
  constant,  ///< `true`, `false`, `none`
  name,
  argument,  ///< the name of a keyword argument
  number,
  string,  ///< also the text of an f-string and its quotes
  comment,
  documentation,  ///< `##`
  bracket,        ///< one of ( ) [ ] { }
  operation,
  dot,
  comma,
  unknown  ///< what is no pxl
};

struct ClassifiedToken {
  TokenClass kind;
  uint32_t begin, end;  ///< bytes
};

/// In order of position, without white space and newlines. Any bytes: a text that is not UTF-8 gives nothing.
std::vector<ClassifiedToken> classify_tokens(const SourceFile& source);

}  // namespace pxl
