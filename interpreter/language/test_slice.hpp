// Program slicing for `pxl test`: the top-level statements of a file that its tests depend on.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

/// The `test` blocks of a file and, in the order of the file, the top-level statements that bind a name which a test
/// reads (directly, or through what it uses), that may change its value, or that set the random seed. Names are
/// compared by text and calls of functions of the file are followed, so a statement too many may be included, but none
/// is missing whose effect a test can see through a name. All statements if a test refers to the implicit program
/// (`ir`, `main`). Empty for a file without tests.
std::vector<const ast::Stmt*> test_slice(const ast::Tree& tree, const Scope& prelude);

}  // namespace pxl
