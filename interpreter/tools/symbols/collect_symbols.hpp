// Collects the symbols of a tree into a SymbolTable.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "interpreter/tools/symbols/symbols.hpp"

namespace pxl {

/// Occurrences and mentions are added in order of position. Each location has one occurrence.
void collect_symbols(const ast::Tree& tree, std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences,
                     std::vector<Mention>& mentions);

}  // namespace pxl
