// Expressions and statements as short prefix notation, so that a test states the whole tree in one line; and the
// first diagnostic as "line:column-column message".
#pragma once

#include <string>

#include "interpreter/syntax/parse.hpp"

namespace pxl::test {

std::string show(const ast::Expr* e);
std::string show(const ast::Stmt* s);
/// The statements of a text, separated by "; ", or its first error.
std::string tree(const std::string& text);
/// All errors, separated by " | ": "1:5-8 message".
std::string errors(const std::string& text);
ParseResult parse_text(const std::string& text);

}  // namespace pxl::test
