// How a SymbolTable is filled.
#pragma once

#include <vector>

#include "interpreter/tools/symbols.hpp"

namespace pxl {

/// Occurrences come in order of position, one a place.
void collect_symbols(const ast::Tree& tree, std::vector<Symbol>& symbols, std::vector<Occurrence>& occurrences);

}  // namespace pxl
