// Semantic checks of the AST: where statements are allowed, assignment targets, arguments, parameters.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::syntax {

void check(const ast::Tree& tree, std::vector<Diagnostic>& problems);

}  // namespace pxl::syntax
