// Rewrites of a plan's nodes that save work without changing a bit of any result. Each is one function in one table;
// a fusion pass is a further entry.
#pragma once

#include "runtime/plan/node.hpp"

namespace pxl {

/// What a rewrite sees: the nodes in order, to be changed in place. A node whose `op` is null afterwards is dropped.
struct FoldContext {
  std::vector<Node>& nodes;
  const Aliases& aliases;
  std::unordered_map<const Tensor*, int> producer;                ///< position of the node that makes a tensor
  std::unordered_map<const Tensor*, std::vector<int>> consumers;  ///< positions, a node once per slot
  std::unordered_map<const Tensor*, bool> is_output;

  bool wanted_outside(const Tensor* tensor) const { return is_output.count(tensor) > 0; }
};

using Rewrite = void (*)(FoldContext&);

/// Transpositions of the last two axes that only matrix products read become flags of the products.
void fold_transposes(FoldContext& context);

/// Applies every rewrite, in the table's order.
void fold(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs);

}  // namespace pxl
