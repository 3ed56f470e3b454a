// Statements that compute a result which nothing takes, and change nothing: `relu(x)`.
#pragma once

#include "interpreter/language/activation.hpp"
#include "interpreter/syntax/ast.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// How many ops the graph that is being built has.
struct OpsSoFar {
  explicit OpsSoFar(Interpreter& in);
  const Graph* graph = nullptr;  ///< null: none is being built
  size_t count = 0;
};

/// A notice, if a call that has a result was one of an op or of a function of the library, and changed nothing.
void note_dropped(Interpreter& in, const ast::CallExpr& call, const Activation& a, const OpsSoFar& before);

}  // namespace pxl
