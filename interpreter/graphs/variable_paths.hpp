// What the body of a program calls its variables, so that other programs and checkpoints find them.
#pragma once

#include <unordered_map>

#include "interpreter/values/scope.hpp"
#include "runtime/execute/match_variables.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Of each variable the first name in `fields` of a tree, a bound graph, a tensor, or a list, tuple or dict of them,
/// and its path there. A variable that is named after another one, as the state of an optimiser is, has the path of
/// that one before its own. Variables of local names have none.
std::unordered_map<const Tensor*, VariablePath> variable_paths(const Ir& ir, const Scope& fields);

}  // namespace pxl
