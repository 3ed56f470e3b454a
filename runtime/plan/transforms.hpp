// The transforms of a plan's nodes: one table, in the order in which they run. Each can be left out; results keep their
// bits (one exception, see fold.hpp).
#pragma once

#include <span>

#include "runtime/plan/fold.hpp"

namespace pxl {

struct PlanTransform {
  std::string_view name;
  std::string_view doc;
  Rewrite apply = nullptr;  ///< null: done while the nodes are made
  bool reference = false;   ///< also on the reference path (PlanOptions::reference)
};
/// All of them are on by default.
std::span<const PlanTransform> plan_transforms();
/// Throws Error (usage) with a suggestion and all names where there is none of that name.
size_t transform_index(std::string_view name);

/// Applies every transform that the options allow, printing the nodes after those that the options name.
/// `constants` takes the tensors that transforms make; nodes point at them. `keep`: see drop_dead_nodes.
void transform_nodes(std::vector<Node>& nodes, const std::vector<const Tensor*>& outputs, Keep keep,
                     std::deque<Tensor>& constants, const PlanOptions& options);

/// Pure nodes whose operands are constants run now, where the results are not larger than 64 KiB or the operands.
void fold_constants(FoldContext& context);
/// A pure node that repeats an earlier one, whose results are still needed, hands on those. Results that nobody would
/// need any more are computed again, so that memory never grows and recomputed activations stay so.
void merge_common(FoldContext& context);

/// Whether a node's results follow from its operands' values and its attributes alone, and it changes nothing. Random
/// ops are pure: their seed is an operand.
bool is_pure(const Node& node);

}  // namespace pxl
