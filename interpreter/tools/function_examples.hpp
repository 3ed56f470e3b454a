// Examples of the language's functions that are not ops, for help and for the reference page (docs/functions.md).
#pragma once

#include <vector>

#include "interpreter/tools/doc_page.hpp"
#include "interpreter/values/builtin.hpp"

namespace pxl {

/// The functions of the prelude that are no ops, by name.
std::vector<const BuiltinObject*> language_functions(const Interpreter& in);
/// What help tells of a function: its declaration, and its example with what a prompt would show for it.
DocEntry function_entry(const BuiltinObject& function);
/// The page "functions": all of them, by name.
DocPage functions_page();

}  // namespace pxl
