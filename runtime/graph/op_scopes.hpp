// The modules of a graph's ops, as pictures frame them and measurements name them. A forward op belongs to the modules
// in its result's name. An op in a gradient graph belongs to the modules of the forward op that it differentiates, so
// that frames agree.
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

/// Module paths of ops and callees, which are computed once for each graph.
class ModulePaths {
 public:
  /// The path of an op in its graph, with dots.
  std::string of(const Op& op);
  /// The path that a call gives the modules of its callee: that of the module whose params it passes. If these belong
  /// to no single module, the path of the call itself.
  std::string of_callee(const Op& call);

 private:
  std::string param_name(const Tensor& t);

  std::unordered_map<const Graph*, std::unordered_map<const Op*, ModulePath>> scopes_;
  /// Of gradient graphs: the tensors of their forward graphs, by name.
  std::unordered_map<const Graph*, std::unordered_map<std::string, const Tensor*>> forward_tensors_;
};

}  // namespace pxl
