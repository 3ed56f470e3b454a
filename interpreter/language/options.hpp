// A script's `option` declarations, read without a run: for --help and for checking the command line.
#pragma once

#include <string>
#include <vector>

#include "interpreter/language/activation.hpp"
#include "interpreter/language/evaluator.hpp"
#include "interpreter/syntax/ast.hpp"

namespace pxl {

/// Declares `option NAME: TYPE = DEFAULT`.
void declare_option(Interpreter& in, const ast::OptionStmt& s, Activation& a);

/// The options that the text declares at its top level, in order. `default_text` is the default as written.
std::vector<OptionInfo> scan_options(const ast::Tree& tree);

/// The comment lines (`#` or `##`) at the very start of the text, without `#`: the script's description.
std::string script_doc(const ast::Tree& tree);

}  // namespace pxl
