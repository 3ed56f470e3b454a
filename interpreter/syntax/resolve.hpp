// Name resolution in bodies: which names are local, which are bound outside, which may be read before they are bound.
#pragma once

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostic.hpp"

namespace pxl::syntax {

/// Fills OwnNames, the flags of names, loops and comprehensions, and Tree::read_too_early. As in Python, a name that a
/// body binds anywhere by an assignment, a loop, `as`, an import or a def is local to the whole body. Names declared
/// by `param`, `stream`, `variable`, `constant` and `option` are local from the declaration on, so that a build may
/// read a configuration `bias` before it declares the param of that name. Invalid uses of `nonlocal` are added to
/// `problems`.
void resolve_names(ast::Tree& tree, std::vector<Diagnostic>& problems);

}  // namespace pxl::syntax
