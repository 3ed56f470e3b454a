// What the grammar lets through and the language does not: places of statements, targets, arguments, parameters.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl::syntax {

void check(const ast::Tree& tree, std::vector<Diagnostic>& problems);

}  // namespace pxl::syntax
