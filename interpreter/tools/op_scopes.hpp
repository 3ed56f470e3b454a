// The modules that ops of a graph belong to, as pictures frame them: forward ops by the names of their results, ops of
// a gradient graph by the forward op that they differentiate, so that frames agree.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Names of nested modules, outermost first; an element of a list is one level: "blocks.0".
using ModulePath = std::vector<std::string>;

/// The module path of each op of a graph. Linear in the ops and their operands.
std::unordered_map<const Op*, ModulePath> op_scopes(const Graph& graph);

}  // namespace pxl
