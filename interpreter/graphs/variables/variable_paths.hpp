// The names that a program's body gives its variables, so that other programs and checkpoints find them.
#pragma once

#include <unordered_map>

#include "interpreter/values/scope.hpp"
#include "runtime/execute/checkpoints/match_variables.hpp"
#include "runtime/graph/ir.hpp"

namespace pxl {

/// Gives the variables of a finished program their names in checkpoints (Tensor::path). Each has the name that `init`
/// or `bound` was given, or else its path in `fields`. A variable that belongs to another program keeps its name there,
/// if no variable here has it. A variable that is named after another one has the other's name before its own.
void name_variables(Ir& ir, const Scope& fields);

/// Returns a path for each variable: the first name in `fields` whose value contains it, and the path within that
/// value. Such values are trees, bound graphs, tensors, and lists, tuples or dicts of them. A variable that is named
/// after another one, as an optimiser's state is, has the other's path before its own. Variables with local names have
/// no path.
std::unordered_map<const Tensor*, VariablePath> variable_paths(const Ir& ir, const Scope& fields);

}  // namespace pxl
