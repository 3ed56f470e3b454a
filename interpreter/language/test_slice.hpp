// Program slicing for `pxl test`: finds the top-level statements on which a file's tests depend.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/values/scope.hpp"

namespace pxl {

/// Returns the `test` blocks of a file and the top-level statements that they need, in the order of the file. A
/// statement is needed if it sets the random seed, or if it binds or may change a name that a test reads. A test may
/// read a name directly, or through what it uses. Names are compared by text, and calls of the file's functions are
/// followed. A statement too many may be included, but no statement is missing whose effect a test can see through a
/// name. If a test refers to the implicit program (`ir`, `main`), all statements are returned. The result is empty for
/// a file without tests.
std::vector<const ast::Stmt*> test_slice(const ast::Tree& tree, const Scope& prelude);

}  // namespace pxl
