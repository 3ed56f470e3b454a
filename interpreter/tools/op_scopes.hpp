// The modules of a graph's ops, as pictures frame them. A forward op belongs to the modules in its result's name. An op
// in a gradient graph belongs to the modules of the forward op that it differentiates, so that frames agree.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

/// Names of nested modules, outermost first. An element of a list is one level: "blocks.0".
using ModulePath = std::vector<std::string>;

/// The module path of each op in a graph. The time is linear in the ops and their operands.
std::unordered_map<const Op*, ModulePath> op_scopes(const Graph& graph);

}  // namespace pxl
