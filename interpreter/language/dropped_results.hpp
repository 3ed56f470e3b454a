// Finds statements that compute an unused result and change nothing: `relu(x)`.
#pragma once

#include "interpreter/language/activation.hpp"
#include "interpreter/syntax/ast.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// The number of ops in the graph that is being built.
struct OpsSoFar {
  explicit OpsSoFar(Interpreter& in);
  const Graph* graph = nullptr;  ///< null if no graph is being built
  size_t count = 0;
};

/// Prints a notice if a call of an op or a library function had an unused result and changed nothing.
void note_dropped(Interpreter& in, const ast::CallExpr& call, const Activation& a, const OpsSoFar& before);

}  // namespace pxl
