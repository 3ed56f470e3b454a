// Tensors within lists, tuples, dicts and named trees: arguments, states and results of graphs are taken apart into
// tensors, and put together again.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "interpreter/values/value.hpp"

namespace pxl {

class Interpreter;

/// A leaf of a tree: what stands there, and its path, "cache.0.k"; "" for the whole.
using TreeLeaf = std::pair<std::string, Value>;

/// Whether a value is a list, tuple, dict, named tree or what a gradient gives.
bool is_tree(const Value& v);
/// The leaves of a value in order: dicts and named trees in order of insertion. Throws where a value holds itself.
std::vector<TreeLeaf> tree_leaves(Interpreter& in, const Value& v);
/// The value with other leaves in the place of its own: `leaf` is called with the path of each, in order.
Value map_tree(Interpreter& in, const Value& v, const std::function<Value(const Value&, const std::string&)>& leaf);
/// Whether a tensor or a spec is among the leaves.
bool holds_tensors(Interpreter& in, const Value& v);
/// Those of the leaves that are tensors, or a tensor alone, in order.
std::vector<Value> tensors_in(Interpreter& in, const Value& v);

}  // namespace pxl
