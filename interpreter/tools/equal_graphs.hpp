// Graphs of equal structure: they differ in names only, as the updates of one optimiser for params of one shape do.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct GraphClass {
  const Graph* graph;  ///< the first of them
  size_t members = 1;
};
struct GraphClasses {
  std::vector<GraphClass> classes;              ///< in the order of their first graphs
  std::unordered_map<const Graph*, size_t> of;  ///< the class of each graph, and of each that they call
};

/// Partitions graphs, and the graphs that they call. Equal are: titles, specs of inputs, ops in order of creation with
/// attributes and operands, constants, outputs, and the classes of the graphs that they call.
GraphClasses classes_of(const std::vector<const Graph*>& graphs);

/// The value of an attribute as text: "none", "0.5", "[1, 2]", "float16".
std::string attribute_text(const Attr& value);

}  // namespace pxl
