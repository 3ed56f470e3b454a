// Finds graphs with equal structure, which differ in names only. One optimiser's updates for params of one shape are an
// example.
#pragma once

#include <unordered_map>
#include <vector>

#include "runtime/graph/ir.hpp"

namespace pxl {

struct GraphClass {
  const Graph* graph;  ///< the first graph of the class
  size_t members = 1;
};
struct GraphClasses {
  std::vector<GraphClass> classes;              ///< in the order of their first graphs
  std::unordered_map<const Graph*, size_t> of;  ///< the class of each given graph, and of each graph that they call
};

/// Partitions graphs, and the graphs that they call. Graphs are equal if they agree in titles, specs of inputs,
/// constants and outputs. Their ops must agree in order of creation, attributes and operands, and the graphs that they
/// call must have equal classes.
GraphClasses classes_of(const std::vector<const Graph*>& graphs);

/// Formats an attribute's value: "none", "0.5", "[1, 2]", "float16".
std::string attribute_text(const Attr& value);

}  // namespace pxl
