// Warnings about a program built from a file: values that its ops do not read, train or change.
#pragma once

#include <vector>

#include "interpreter/syntax/ast.hpp"
#include "runtime/base/diagnostics/diagnostic.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Findings with the kinds of lints.hpp. Their places may be in other files than the tree's: the caller keeps its own.
std::vector<Diagnostic> program_findings(const Ir& ir, const ast::Tree& tree);

}  // namespace pxl
