// Tensors within lists, tuples, dicts and named trees. Arguments, states and results of graphs are split into tensors
// and reassembled here.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// A leaf of a tree: its path, such as "cache.0.k", and its value. The path of the whole value is "".
using TreeLeaf = std::pair<std::string, Value>;

/// Whether a value is a list, tuple, dict, named tree or the result of a gradient.
bool is_tree(const Value& v);
/// The parts of a tree by name, one level of it; none for a leaf.
std::vector<TreeLeaf> branches_of(Interpreter& in, const Value& v);
/// The leaves of a value in order; dicts and named trees are in order of insertion. Throws if a value contains itself.
std::vector<TreeLeaf> tree_leaves(Interpreter& in, const Value& v);
/// The value with new leaves: `leaf` is called with each old leaf and its path, in order.
Value map_tree(Interpreter& in, const Value& v, const std::function<Value(const Value&, const std::string&)>& leaf);
/// Whether a tensor or a spec is among the leaves.
bool holds_tensors(Interpreter& in, const Value& v);
/// The leaves that are tensors, in order; a tensor alone is its own leaf.
std::vector<Value> tensors_in(Interpreter& in, const Value& v);

}  // namespace pxl
