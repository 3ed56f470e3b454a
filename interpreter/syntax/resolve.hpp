// Resolves names in bodies: which are local, which are bound outside, and which may be read before they are bound.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"

namespace pxl::syntax {

/// Fills OwnNames, the flags of names, loops and comprehensions, and Tree::read_too_early. The rule is Python's: a name
/// is local to the whole body if the body binds it anywhere. Assignments, loops, `as`, imports and defs bind names.
/// Names declared by `param`, `stream`, `variable`, `constant` and `option` are local from the declaration on. A build
/// may therefore read a configuration `bias` before it declares the param `bias`. Invalid uses of `nonlocal` are added
/// to `problems`.
void resolve_names(ast::Tree& tree, std::vector<Diagnostic>& problems);

}  // namespace pxl::syntax
