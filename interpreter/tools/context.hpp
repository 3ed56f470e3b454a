// Where in a text a cursor is: the chain of names before it, the call around it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "interpreter/syntax/classify.hpp"

namespace pxl {

/// The first token of the chain "a.b[0].c" whose last token is number `end` - 1; false where that ends no chain.
bool chain_start(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t end, size_t& first);

/// The call whose parentheses are the innermost open bracket at a cursor.
struct CallContext {
  bool found = false;
  size_t callee_end = 0;           ///< byte behind the callee
  bool at_argument_start = false;  ///< the cursor's word begins an argument
  std::vector<std::string> named;  ///< keyword arguments that are there already
  size_t position = 0;             ///< of the argument, from 0
};
CallContext enclosing_call(const SourceFile& source, const std::vector<ClassifiedToken>& tokens, size_t cursor);

}  // namespace pxl
