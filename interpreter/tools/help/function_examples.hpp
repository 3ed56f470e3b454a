// Examples of the language's functions that are not ops, for help and the reference page (docs/functions.md).
#pragma once

#include <vector>

#include "interpreter/tools/help/doc_page.hpp"
#include "interpreter/values/builtin.hpp"

namespace pxl {

/// The functions of the prelude that are not ops, by name.
std::vector<const BuiltinObject*> language_functions(const Interpreter& in);
/// The help entry of a function: its declaration, and its example with the output of a prompt.
DocEntry function_entry(const BuiltinObject& function);
/// The page "functions": all functions, by name.
DocPage functions_page();

}  // namespace pxl
