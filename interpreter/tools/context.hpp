// The syntactic context of a cursor: the chain of names before it, and the enclosing call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/classify.hpp"

namespace pxl {

/// Finds the first token of the chain "a.b[0].c" whose last token has the number `end` - 1. Returns false if no chain
/// ends there.
bool chain_start(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t end, size_t& first);

/// The call whose parentheses are the innermost open bracket at a cursor.
struct CallContext {
  bool found = false;
  size_t callee_end = 0;           ///< end of the callee, in bytes
  bool at_argument_start = false;  ///< the word at the cursor begins an argument
  std::vector<std::string> named;  ///< keyword arguments that the call has already
  size_t position = 0;             ///< index of the argument
};
CallContext enclosing_call(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t cursor);

}  // namespace pxl
