// Mixed precision: a graph computes its products in float16 or bfloat16, with the inputs and outputs that it had.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct PrecisionForm {
  DType dtype = DType::float16;   ///< float16 or bfloat16
  std::vector<std::string> keep;  ///< rows that compute in the dtype of the given graph, besides those that always do
  /// Whether a module of an op keeps the dtype of all its ops. `path`: the modules of the op, with dots. May be empty.
  std::function<bool(const Op& op, const std::string& path)> keeps_module;
};

/// The graph with casts, called graphs included. The column `precision` of an op says whether floating operands wider
/// than `form.dtype` are rounded to it, or have the given graph's dtype again. Graphs with their own gradient stay as
/// they are. `leaves`: the inputs that are params; they take the dtype of the other operand. Declared outputs
/// alone are kept, with their dtypes. Throws for a change in place.
Graph& lower_precision(Graph& graph, const PrecisionForm& form, const std::vector<bool>& leaves);

}  // namespace pxl
