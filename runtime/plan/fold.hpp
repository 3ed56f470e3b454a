// Rewrites of a plan's nodes that save work: what they see (transforms.hpp has their table). None changes a bit of any
// result but one: a product of few rows by a transposed matrix adds its terms in another order when the transposition
// is folded (kernels/skinny.hpp), so that its last bits may differ; and where a batch of products reads strided
// operands or writes its results transposed, the order of additions is the library's.
#pragma once

#include <deque>

#include "runtime/plan/plan.hpp"

namespace pxl {

/// What a rewrite sees: the nodes in order, to be changed in place. A node whose `op` is null afterwards is dropped.
struct FoldContext {
  std::vector<Node>& nodes;
  const Aliases& aliases;
  const std::vector<const Tensor*>& outputs;
  Keep keep;                                                      ///< see drop_dead_nodes
  std::deque<Tensor>& constants;                                  ///< takes the tensors that rewrites make
  std::unordered_map<const Tensor*, int> producer;                ///< position of the node that makes a tensor
  std::unordered_map<const Tensor*, std::vector<int>> consumers;  ///< positions, a node once per slot
  std::unordered_map<const Tensor*, bool> is_output;

  bool wanted_outside(const Tensor* tensor) const { return is_output.count(tensor) > 0; }
};

using Rewrite = void (*)(FoldContext&);

/// Transpositions of the last two axes that only matrix products read become flags of the products.
void fold_transposes(FoldContext& context);

/// Transpositions, reshapes and splits that only batches of float32 products read become strides of their operands, a
/// transposition of a product's result those of the result.
void lay_out_products(FoldContext& context);

}  // namespace pxl
