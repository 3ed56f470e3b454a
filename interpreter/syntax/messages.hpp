// Messages of syntax errors.
#pragma once

#include "interpreter/syntax/parse_tree.hpp"

namespace pxl::syntax {

Diagnostic describe(const TokenList& list, const SyntaxError& error);

}  // namespace pxl::syntax
